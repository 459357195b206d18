// Orders under several policies. The test stops it at a gate inside the handler
// or has it die at a fault point; what it did is counted in the database, where
// all processes count together.
import { Body, Controller, Headers, Header, Module, Post } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  AtomicPhase,
  Idempotent,
  IdempotencyModule,
  type IdempotencyModuleOptions,
} from 'nestjs-atomic-idempotency';
import { DataSource } from 'typeorm';
import { observeFaultPoints } from '../../lib/faults/fault-points.js';
import { barrier, type Barrier } from '../support/barrier.js';
import { emit, serve } from '../support/child-server.js';

const { DATABASE = '', IDEMPOTENCY = '{}', CONNECTIONS = '10', DEPLOYMENT = '' } = process.env;
const DEPLOYED = new Date(process.pid * 1000).toUTCString();

/** One gate per key. Only requests with the header `x-hold` stop there. */
const gates = new Map<string, Barrier>();
let requests = 0;

function gateOf(key: string): Barrier {
  const gate = gates.get(key) ?? barrier();
  gates.set(key, gate);
  return gate;
}

interface Order {
  item: string;
}

@Controller()
class OrdersController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly phase: AtomicPhase,
  ) {}

  @Post('orders')
  @Idempotent()
  create(@Body() order: Order, @Headers() headers: Record<string, string>) {
    return this.execute(order, headers);
  }

  @Post('accepted-orders')
  @Idempotent({ onInProgress: 'accept' })
  createOrAccept(@Body() order: Order, @Headers() headers: Record<string, string>) {
    return this.execute(order, headers);
  }

  @Post('awaited-orders')
  @Idempotent({ onInProgress: 'wait', waitFor: '30s' })
  createOrWait(@Body() order: Order, @Headers() headers: Record<string, string>) {
    return this.execute(order, headers);
  }

  @Post('resumable-orders')
  @Idempotent({ onAbandoned: 'resume', onInProgress: 'wait', waitFor: '30s' })
  createOrResume(@Body() order: Order, @Headers() headers: Record<string, string>) {
    return this.execute(order, headers);
  }

  /** Every header that is kept by default, different in each deployment. */
  @Post('documents')
  @Idempotent()
  @Header('content-language', `x-${DEPLOYMENT}`)
  @Header('content-location', `/documents/${DEPLOYMENT}`)
  @Header('etag', `"${DEPLOYMENT}"`)
  @Header('last-modified', DEPLOYED)
  @Header('location', `/documents/${DEPLOYMENT}`)
  @Header('x-deployment', DEPLOYMENT)
  async createDocument(@Body() order: Order, @Headers() headers: Record<string, string>) {
    return {
      ...(await this.execute(order, headers)),
      z: 'members out of order',
      a: [1.5, 1e21, null, 'é\u2028\ud83d\ude80'],
    };
  }

  private async execute(
    { item }: Order,
    { 'idempotency-key': key = '', 'x-hold': hold }: Record<string, string>,
  ) {
    const [row] = await this.dataSource.query<{ id: string }[]>(
      'INSERT INTO executions (key) VALUES ($1) RETURNING id',
      [key],
    );
    emit('began', key);
    if (hold !== undefined) await gateOf(key).pass();
    return { order: row!.id, item, attempt: this.phase.current?.attempt, by: DEPLOYMENT };
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: DATABASE,
      autoLoadEntities: true,
      extra: { max: Number(CONNECTIONS) },
    }),
    IdempotencyModule.forRoot({
      scope: 'global',
      ...(JSON.parse(IDEMPOTENCY) as Partial<IdempotencyModuleOptions>),
    }),
  ],
  controllers: [OrdersController],
})
class OrdersModule {}

await serve(OrdersModule, {
  configure: (app) => {
    app.getHttpServer().on('request', () => (requests += 1));
  },
  commands: {
    open: (key: string) => gateOf(key).open(),
    /** How many requests have come, whatever became of them. */
    requests: () => requests,
    /** SIGKILL as soon as so many attempts have come to that point; the earlier ones wait there. */
    dieAt: ({ point, attempts }: { point: string; attempts: number }) => {
      const meeting = barrier();
      observeFaultPoints(({ name }) => {
        if (name !== point) return;
        const alive = meeting.pass();
        // This call does not return: no answer leaves, no connection says goodbye.
        if (meeting.count === attempts) process.kill(process.pid, 'SIGKILL');
        return alive;
      });
    },
  },
});
