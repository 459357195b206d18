import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IdempotencyModule } from 'nestjs-atomic-idempotency';
import { idempotencyMigrations } from 'nestjs-atomic-idempotency/migrations';
import { CreateOrders1700000000000 } from './create-orders.js';
import { OrdersController } from './orders.controller.js';
import { OrdersService } from './orders.service.js';

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env.DATABASE_URL,
      autoLoadEntities: true,
      migrations: [...idempotencyMigrations, CreateOrders1700000000000],
      migrationsRun: true,
    }),
    IdempotencyModule.forRoot({ scope: 'global' }),
  ],
  controllers: [OrdersController],
  providers: [OrdersService],
})
export class AppModule {}
