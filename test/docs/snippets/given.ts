/**
 * What a snippet of the docs may use without an import or a declaration of its
 * own, besides everything that the package exports. A snippet that needs more is
 * an example: give it a file in test/docs/examples, where it runs.
 */
import type { INestApplication } from '@nestjs/common';
import type { NestFactory as Factory } from '@nestjs/core';
import type { ClientProxy, Transport as Transports } from '@nestjs/microservices';
import type { DataSource, EntityManager } from 'typeorm';
import type {
  AtomicPhase,
  IdempotencyHealthIndicator,
  IdempotencyOperator,
  Maintenance,
  Outbox,
} from 'nestjs-atomic-idempotency';
import type { AuthGuard as Guard } from '../examples/auth.guard.js';
import type { Payments } from '../examples/payments.js';

export declare const app: INestApplication;
export declare const client: ClientProxy;
export declare const Transport: typeof Transports;
export declare const dataSource: DataSource;
export declare const healthIndicator: IdempotencyHealthIndicator;
/** A key management service. */
export declare const kms: {
  encrypt(data: Uint8Array, context: object): Promise<Uint8Array>;
  decrypt(data: Uint8Array, keyId: string, context: object): Promise<Uint8Array>;
};
export declare const maintenance: Maintenance;
export declare const operator: IdempotencyOperator;
export declare const outbox: Outbox;
export declare const payments: Payments;
export declare const phase: AtomicPhase;
export declare const tx: EntityManager;
export declare const amount: number;
export declare const NestFactory: typeof Factory;
export declare const AuthGuard: typeof Guard;
export declare const WorkerModule: new () => object;
