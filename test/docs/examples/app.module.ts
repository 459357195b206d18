import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IdempotencyModule } from 'nestjs-atomic-idempotency';
import { idempotencyMigrations } from 'nestjs-atomic-idempotency/migrations';
import { OrdersController } from './orders.controller.js';

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env.DATABASE_URL,
      autoLoadEntities: true,
      migrations: [...idempotencyMigrations],
      migrationsRun: true,
    }),
    IdempotencyModule.forRoot({ scope: (request) => request.user?.id }),
  ],
  controllers: [OrdersController],
})
export class AppModule {}
