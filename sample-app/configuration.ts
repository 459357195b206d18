/** What the app has to be told before it can start. */
export interface Configuration {
  platform: 'express' | 'fastify';
  port: number;
  databaseUrl: string;
  paymentsUrl: string;
  /** How long a call of the payment provider may take. */
  paymentsTimeoutMs: number;
  /** What the payment provider signs its webhooks with. @default the sample's own */
  webhookSecret?: string;
  /** What operators sign in with, on the operator page. @default the sample's own */
  operatorPassword?: string;
  /**
   * How long a request owns its key without a sign of life: what a retry has to
   * wait after a crash.
   */
  lease: string;
  /**
   * Whether this process also does the work that goes on without a client, such
   * as sending receipts. Another process of the app may do it instead.
   * @default true
   */
  maintenance?: boolean;
  /** Serve `POST /graphql` as well. @default false */
  graphql?: boolean;
  /** Take bookings from this RabbitMQ as well. @default none */
  amqpUrl?: string | undefined;
}

/** Good enough for a sample on one machine. A real one is a secret, and has no default. */
export const SAMPLE_SECRET = 'whsec_rocket_rides';

/** Where the operator page is, and how to get in. A real password has no default either. */
export const OPERATOR_PATH = 'operator';
export const SAMPLE_OPERATOR = 'mission-control';
export const SAMPLE_PASSWORD = 'rocket';

export function readConfiguration(env: NodeJS.ProcessEnv): Configuration {
  return {
    platform: env['PLATFORM'] === 'fastify' ? 'fastify' : 'express',
    port: Number(env['PORT'] ?? 3000),
    databaseUrl: required(env, 'DATABASE_URL'),
    paymentsUrl: required(env, 'PAYMENTS_URL'),
    paymentsTimeoutMs: Number(env['PAYMENTS_TIMEOUT_MS'] ?? 10_000),
    webhookSecret: env['WEBHOOK_SECRET'] ?? SAMPLE_SECRET,
    operatorPassword: env['OPERATOR_PASSWORD'] ?? SAMPLE_PASSWORD,
    lease: env['LEASE'] ?? '30s',
    maintenance: env['MAINTENANCE'] !== 'off',
    graphql: env['GRAPHQL'] === 'on',
    amqpUrl: env['BOOKINGS'],
  };
}

function required(env: NodeJS.ProcessEnv, name: string): string {
  const value = env[name];
  if (!value) {
    throw new Error(`Set ${name}, or use "npm start", which starts all that is needed.`);
  }
  return value;
}
