import type { INestApplicationContext } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { Expectation } from '../changes/expectation.js';
import { VerificationError } from '../verification-error.js';
import { textTable } from '../text-table.js';
import { EffectWatch, type Change } from '../changes/effect-watch.js';
import type { DeliveryOutcome } from '../../outbox/delivery.js';
import { errorLine } from '../../telemetry/error-line.js';
import { DATA_SOURCE } from '../../tokens.js';
import { Deliveries, type Disturbance } from './deliveries.js';
import type { DeliveryOptions, DeliveryReport, DeliveryRun } from './delivery-options.js';
import { DeliveryVerdict, type DeliveryScenario } from './delivery-verdict.js';
import { KitMessages } from './kit-messages.js';
import { StatementWatch } from './statement-watch.js';

/** Of each message, so many statements fail in turn; more are said to be left out. */
const MOST_STATEMENTS = 25;

/**
 * Finds out whether an `@OutboxHandler()` bears what a message may meet: it is
 * delivered again after a crash between the effect and the note of it, twice at
 * the same time, after each of its statements has failed, and, with an ordering
 * key, after a later message. Each run has to change what one undisturbed
 * delivery changes: the application's own tables, and the counts of `observe`.
 *
 * Rejects with a `VerificationError` that names each cause and its cure. Needs no
 * test runner. The outbox job of the application has to be off.
 */
export async function verifyDelivery(
  app: INestApplicationContext,
  options: DeliveryOptions,
): Promise<DeliveryReport> {
  await app.init();
  const messages = new KitMessages(app, options);
  const watch = new StatementWatch();
  const kit = await EffectWatch.around(app, options, async (effects) => {
    const uninstall = watch.install(app.get<DataSource>(DATA_SOURCE, { strict: false }));
    const performed = new DeliveryKit(app, messages, watch, effects, options);
    try {
      await performed.run();
    } finally {
      uninstall();
      await messages.removeAll();
    }
    return performed;
  });
  const { runs, problems, subject, skipped } = kit;
  const table = [tableOf(runs), ...skipped.map((what) => `not verified: ${what}`)].join('\n');
  if (problems.length > 0) throw new VerificationError(`${subject} is not safe`, problems, table);
  return { runs, skipped, problems, table };
}

class DeliveryKit {
  readonly runs: DeliveryRun[] = [];
  readonly skipped: string[] = [];
  private readonly verdict = new DeliveryVerdict();

  constructor(
    private readonly app: INestApplicationContext,
    private readonly messages: KitMessages,
    private readonly watch: StatementWatch,
    private readonly effects: EffectWatch,
    private readonly options: DeliveryOptions,
  ) {}

  get problems() {
    return this.verdict.problems;
  }

  get subject(): string {
    return `@OutboxHandler('${this.messages.topic}')`;
  }

  async run(): Promise<void> {
    const once = await this.learn('one delivery', (id, to) => to.deliver(id));
    if (!once) return;
    const { expectation, statements } = once;
    this.verdict.expect(this.options.expected, expectation.counts, 'one delivery');
    if (expectation.changesNothing) {
      const message = 'One delivery changed nothing: no count of observe, and no table.';
      return this.verdict.add('nothing_changed', 'one delivery', message);
    }

    const again = (first: Disturbance) => async (id: string, to: Deliveries) => {
      await to.deliver(id, first);
      return to.deliverAtLast(id);
    };
    const compare = this.comparing(expectation);
    await compare(
      'twice',
      'killed between the effect and the note of it',
      again({ unnoted: true }),
    );
    await compare('died', 'killed before the handler', again({ before: true }));
    await compare('at once', 'delivered twice at the same time', async (id, to) => {
      await to.deliverAtOnce(id);
      return to.deliverAtLast(id);
    });
    for (const [failAt, statement] of statements.slice(0, MOST_STATEMENTS).entries()) {
      const name = `statement ${failAt + 1} fails (${statement})`;
      await compare('statement', name, again({ failAt }));
    }
    if (statements.length > MOST_STATEMENTS) {
      this.skipped.push(`failures of the statements after the first ${MOST_STATEMENTS}`);
    }
    const { whyNotInOrder, ordered } = this.messages;
    if (whyNotInOrder !== undefined) this.skipped.push(whyNotInOrder);
    else if (ordered) await this.verifyOrder();
  }

  private async verifyOrder(): Promise<void> {
    const inTurn = await this.learn('two messages in turn', async (id, to) => {
      await to.deliver(id);
      return to.deliver(await this.messages.next());
    });
    if (!inTurn) return;
    const name = 'the first message again, after the second one';
    await this.comparing(inTurn.expectation)('out of order', name, async (id, to) => {
      await to.deliver(id, { unnoted: true });
      const later = await to.deliver(await this.messages.next());
      const again = await to.deliverAtLast(id);
      return later.kind === 'delivered' ? again : later;
    });
  }

  /** Two undisturbed runs show what is to be compared. Undefined: they failed, which is all there is to say. */
  private async learn(name: string, work: Work) {
    const one = await this.perform(name, work);
    const two = one && (await this.perform(name, work));
    if (!one || !two) return undefined;
    const expectation = new Expectation(name, one.change, two.change);
    this.verdict.compare(
      'once',
      `${name}, compared with another one`,
      expectation.deviations(two.change),
    );
    return { expectation, statements: one.statements };
  }

  private comparing(expectation: Expectation) {
    return async (scenario: DeliveryScenario, name: string, work: Work): Promise<void> => {
      const run = await this.perform(name, work);
      if (run) this.verdict.compare(scenario, name, expectation.deviations(run.change));
    };
  }

  private async perform(
    name: string,
    work: Work,
  ): Promise<{ change: Change; statements: string[] } | undefined> {
    const id = await this.messages.add();
    const deliveries = this.messages.deliveries(this.app, this.watch);
    const { result, change } = await this.effects.during(() => work(id, deliveries));
    const { counts, rows } = change;
    const outcome = result.kind === 'delivered' ? 'delivered' : 'failed';
    this.runs.push({ name, deliveries: deliveries.count, outcome, counts, rows: rows.length });
    for (const statement of deliveries.late) {
      const message = `The handler went on after its promise had settled: ${statement}.`;
      this.verdict.add('not_awaited', name, message, 'late');
    }
    if (outcome === 'delivered') return { change, statements: deliveries.last?.seen ?? [] };
    const why = result.kind === 'failed' ? errorLine(result.error) : 'it came to no end';
    this.verdict.add('never_delivered', name, `The message was not delivered: ${why}`);
    return undefined;
  }
}

type Work = (id: string, to: Deliveries) => Promise<DeliveryOutcome>;

function tableOf(runs: readonly DeliveryRun[]): string {
  return textTable(
    ['run', 'outcome', 'deliveries', 'rows', 'observed'],
    runs.map(({ name, outcome, deliveries, rows, counts }) => [
      name,
      outcome,
      String(deliveries),
      String(rows),
      Object.entries(counts)
        .map(([count, by]) => `${count} ${by < 0 ? '' : '+'}${by}`)
        .join(', ') || '–',
    ]),
  );
}
