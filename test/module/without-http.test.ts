import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { describe, expect, it } from '@jest/globals';
import { AtomicPhase, IdempotencyModule } from 'nestjs-atomic-idempotency';
import { createTestDatabase } from '../support/database.js';

@Injectable()
class Orders {
  constructor(readonly phases: AtomicPhase) {}
}

describe('A process without a web server', () => {
  it('starts and has the providers', async () => {
    const database = await createTestDatabase();

    @Module({
      imports: [
        TypeOrmModule.forRoot({ ...database.dataSourceOptions, autoLoadEntities: true }),
        IdempotencyModule.forRoot({ scope: 'global' }),
      ],
      providers: [Orders],
    })
    class WorkerModule {}

    const worker = await NestFactory.createApplicationContext(WorkerModule, { logger: false });
    expect(worker.get(Orders).phases).toBe(worker.get(AtomicPhase));
    expect(worker.get(AtomicPhase).current).toBeUndefined();
    await worker.close();
    await database.drop();
  });
});
