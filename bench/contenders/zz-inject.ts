import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { Body, Controller, Module, Post, UseInterceptors, type CallHandler, type ExecutionContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IdempotencyModule, Idempotent } from 'nestjs-atomic-idempotency';
import { idempotencyMigrations } from 'nestjs-atomic-idempotency/migrations';
import { dataSource } from './data-source.js';
import { accept, type Payment } from './payment.js';

class Pass { async intercept(_c: ExecutionContext, next: CallHandler) { return next.handle(); } }
@Controller()
class C {
  @Post('bare') bare(@Body() p: Payment) { return accept(p); }
  @Post('pass') @UseInterceptors(Pass) pass(@Body() p: Payment) { return accept(p); }
  @Post('ours') @Idempotent() ours(@Body() p: Payment) { return accept(p); }
}
@Module({ imports: [TypeOrmModule.forRoot({ ...dataSource, migrations: idempotencyMigrations, migrationsRun: true }), IdempotencyModule.forRoot({ scope: 'global', maintenance: false, replayCache: { ttl: '1h' } })], controllers: [C] })
class M {}
const app = await NestFactory.create<NestFastifyApplication>(M, new FastifyAdapter(), { logger: ['error'] });
await app.init(); await app.getHttpAdapter().getInstance().ready();
const payload = JSON.stringify({ amount: 1999, currency: 'EUR', reference: 'order 2041-17', customer: { id: 'cus_4fdAW5ftNQow1a', name: 'Jean Dupont', email: 'jean@example.org' } });
const one = async (url: string, key: string) => { const r = await app.inject({ method: 'POST', url, headers: { 'content-type': 'application/json', 'idempotency-key': key }, payload }); if (r.statusCode !== 201) throw new Error(r.body); };
async function run(url: string, n: number, key?: string, width = 32) { let left = n; const c0 = process.cpuUsage(); const t = performance.now(); await Promise.all(Array.from({ length: width }, async () => { while (left-- > 0) await one(url, key ?? randomUUID()); })); const c = process.cpuUsage(c0); return [(c.user + c.system) / n, (performance.now() - t) * 1000 / n]; }
const N = Number(process.env.N ?? 20000);
if (!process.env.NOINIT) { await one('/ours', 'k'); await one('/ours', 'k'); }
const jobs: Record<string, () => Promise<number[]>> = { bare: () => run('/bare', N), pass: () => run('/pass', N), replay: () => run('/ours', N, 'k'), fresh: () => run('/ours', N / 2), alone: () => run('/ours', N / 20, undefined, 1) };
if (process.env.COUNT) {
  const { createHook } = await import('node:async_hooks');
  let n = 0; const where = new Map<string, number>(); let deep = false;
  const hook = createHook({ init(_id, type) { if (type !== 'PROMISE') return; n++; if (deep) { const l = (new Error().stack ?? '').split('\n').slice(2).filter((x) => !x.includes('async_hooks')).slice(0, 2).map((x) => x.trim().replace(/file:.*bench\/\d+\//, '').replace(/.*node_modules\//, '')).join(' < '); where.set(l, (where.get(l) ?? 0) + 1); } } }).enable();
  for (const j of ['bare', 'pass', 'ours', 'fresh']) { await one(j === 'bare' ? '/bare' : j === 'pass' ? '/pass' : '/ours', 'k'); n = 0; deep = j === 'fresh' || j === process.env.COUNT; where.clear(); await one(j === 'bare' ? '/bare' : j === 'pass' ? '/pass' : '/ours', j === 'fresh' ? randomUUID() : 'k'); console.log(j, n); if (deep) for (const [k, v] of [...where].sort((a, b) => b[1] - a[1]).slice(0, 70)) console.log('   ', v, k); }
  process.exit(0);
}
const only = (process.env.ONLY ?? Object.keys(jobs).join(',')).split(',');
for (const j of only) await jobs[j]!();
const out: Record<string, number[][]> = {};
for (let r = 0; r < Number(process.env.R ?? 5); r++) for (const j of only) (out[j] ??= []).push(await jobs[j]!());
const med = (a: number[]) => a.sort((x, y) => x - y)[a.length >> 1]!.toFixed(1);
for (const [j, rs] of Object.entries(out)) console.log(j.padEnd(8), 'cpu us', med(rs.map((r) => r[0]!)), 'wall us', med(rs.map((r) => r[1]!)));
process.exit(0);
