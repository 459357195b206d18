import { Controller, Post } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { barrier, type Barrier } from '../support/barrier.js';
import { onCluster } from '../support/cluster.js';
import { heartbeat } from '../support/heartbeat.js';
import { send, type Received } from '../support/http.js';
import {
  keyRow,
  lapse,
  startIdempotentApp,
  type IdempotentApp,
} from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';
import { expectRetryable } from '../support/refusals.js';

const LEASES = 3;
const KINDS = ['plain', 'in-one-phase', 'in-one-call'];

let gate: Barrier;

@Controller('orders')
@Idempotent({ onAbandoned: 'resume' })
class OrdersController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post('plain')
  async plain() {
    await gate.pass();
    return {};
  }

  @Post('in-one-phase')
  inOnePhase() {
    return this.phase.local('order', async (tx) => {
      const { key } = this.phase.current!;
      // Many tables of a user have such a column, and it locks the key's row.
      await tx.query('INSERT INTO orders (key_id) SELECT id FROM idempotency_keys WHERE key = $1', [
        key,
      ]);
      await gate.pass();
      return {};
    });
  }

  @Post('in-one-call')
  inOneCall() {
    return this.phase.foreign('charge', {
      call: async () => {
        await gate.pass();
        return {};
      },
    });
  }
}

forEachPlatform('A handler that outlasts its lease', (platform) => {
  let app: IdempotentApp;

  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [OrdersController] });
    // On a cluster the id has no unique constraint to refer to.
    const reference = onCluster ? '' : 'REFERENCES idempotency_keys (id) ON DELETE SET NULL';
    await app.database.query(`CREATE TABLE orders (key_id bigint ${reference})`);
  });
  afterAll(() => app.close());
  beforeEach(() => {
    gate = barrier();
  });

  it('runs once, whatever it does in the meantime', async () => {
    const order = (kind: string): Promise<Received> =>
      send(`${app.url}/orders/${kind}`, { key: kind });
    const answers = KINDS.map(order);
    await gate.arrived(KINDS.length);

    for (let lease = 0; lease < LEASES; lease++) {
      // As late as a heartbeat can be.
      for (const kind of KINDS) await lapse(app.database, kind);
      await heartbeat(app.app);
      for (const kind of KINDS) expectRetryable(await order(kind), 409, 'in_progress');
    }
    expect(gate.count).toBe(KINDS.length);

    gate.open();
    for (const answer of await Promise.all(answers)) expect(answer.status).toBe(201);
    for (const kind of KINDS) {
      expect((await order(kind)).headers.get('idempotent-replayed')).toBe('true');
      expect(await keyRow(app.database, kind)).toMatchObject({ status: 'completed', attempt: 1 });
    }
    expect(gate.count).toBe(KINDS.length);
  });
});
