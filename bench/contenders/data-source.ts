import type { TypeOrmModuleOptions } from '@nestjs/typeorm';

/** The same pool for everyone who talks to PostgreSQL: pg's default size. */
export const POOL_SIZE = 10;

export const dataSource = {
  type: 'postgres',
  url: process.env.BENCH_DATABASE_URL!,
  poolSize: POOL_SIZE,
  autoLoadEntities: true,
} satisfies TypeOrmModuleOptions;
