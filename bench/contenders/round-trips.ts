import { randomUUID } from 'node:crypto';
import type { INestApplication } from '@nestjs/common';
import { DataSource } from 'typeorm';

/**
 * What a trip to the database costs through this server's own pool: one that
 * writes nothing, and the two that any durable key needs at least, each of them
 * committed. Medians in milliseconds.
 */
export async function roundTrips(
  times: number,
  app: INestApplication,
): Promise<{ select: number; insert: number; update: number }> {
  const data = app.get(DataSource);
  await data.query('CREATE TABLE IF NOT EXISTS bench_round_trips (key text PRIMARY KEY, done int)');
  const took = { select: [] as number[], insert: [] as number[], update: [] as number[] };
  for (let i = 0; i < times; i++) {
    const key = randomUUID();
    took.select.push(await time(data, 'SELECT 1', []));
    took.insert.push(await time(data, 'INSERT INTO bench_round_trips (key) VALUES ($1)', [key]));
    took.update.push(
      await time(data, 'UPDATE bench_round_trips SET done = 1 WHERE key = $1', [key]),
    );
  }
  return { select: median(took.select), insert: median(took.insert), update: median(took.update) };
}

async function time(data: DataSource, sql: string, parameters: unknown[]): Promise<number> {
  const start = performance.now();
  await data.query(sql, parameters);
  return performance.now() - start;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
