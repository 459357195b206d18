import { Logger } from '@nestjs/common';
import type { DeadLetter, Outbox } from '../../outbox/outbox.js';
import type { Html } from './html.js';
import { LETTERS_LIMIT, lettersView, requeuePreview } from './letters.view.js';
import type { PageAccess } from './page-access.js';
import type { PageRequest } from './page-request.js';
import type { ShownValues } from './shown-values.js';

/** What came of a form of the dead letters. */
export type Requeued =
  | { preview: Html }
  | {
      topic: string | undefined;
      refusal: { status: number; title: string; detail: string } | undefined;
    };

/** Messages that are not delivered any more, and another round for them. */
export class DeadLetters {
  private readonly logger = new Logger('IdempotencyOperatorPage');

  constructor(
    private readonly outbox: Outbox,
    private readonly access: PageAccess,
    private readonly values: ShownValues,
  ) {}

  async list({ query, links, visitor }: PageRequest): Promise<Html> {
    const topic = query.text('topic');
    const letters = await this.find(topic, LETTERS_LIMIT + 1);
    const open = query.text('values') === 'shown';
    return lettersView({ letters, topic, open }, links, visitor, this.values);
  }

  async requeue({ form, links, raw }: PageRequest): Promise<Requeued> {
    const topic = form.text('topic');
    const letters = await this.find(topic, LETTERS_LIMIT);
    if (form.text('which') === 'all') {
      const allowed: DeadLetter[] = [];
      for (const letter of letters) {
        if ((await this.authorise(raw, letter)) !== undefined) allowed.push(letter);
      }
      return { preview: requeuePreview(letters, topic, allowed, links) };
    }
    const chosen = new Set<string>();
    for (const [name, value] of form.entries) if (/^item\d+$/.test(name)) chosen.add(value);
    if (chosen.size === 0) return refusal(topic, 400, 'Choose messages first.');

    let forbidden = 0;
    let gone = chosen.size;
    for (const letter of letters.filter(({ id }) => chosen.has(id))) {
      const who = await this.authorise(raw, letter);
      if (who === undefined) forbidden += 1;
      else if (await this.outbox.requeue(letter.id)) {
        gone -= 1;
        this.logger.log(`${who}: requeue of message ${letter.id}`);
      }
    }
    gone -= forbidden;
    if (forbidden > 0) {
      return refusal(topic, 403, `${forbidden} of the messages may not be requeued by you.`);
    }
    if (gone > 0) {
      return refusal(
        topic,
        409,
        `${gone} of the messages are no dead letters any more; somebody else was faster. The others were requeued.`,
      );
    }
    return { topic, refusal: undefined };
  }

  private find(topic: string | undefined, limit: number): Promise<DeadLetter[]> {
    return this.outbox.deadLetters({ limit, ...(topic !== undefined && { topic }) });
  }

  private authorise(request: unknown, { id, topic }: DeadLetter): Promise<string | undefined> {
    return this.access.authorise(request, { action: 'requeue', message: { id, topic } });
  }
}

function refusal(topic: string | undefined, status: number, detail: string): Requeued {
  return { topic, refusal: { status, title: 'Not all of it was done', detail } };
}
