import { Logger } from '@nestjs/common';
import type { Answer } from '../../answers/answer.js';
import type { DeadLetter, Outbox } from '../../outbox/outbox.js';
import type { AuditQueries } from '../audit-queries.js';
import { isEffectKey as isUuid } from '../key-search.js';
import { reasonIn } from './decision.js';
import { failureOf, type Failure } from './failure.js';
import type { Frame } from './frame.js';
import { letterView } from './letter.view.js';
import { LETTERS_LIMIT, lettersView, requeuePreview } from './letters.view.js';
import type { MessageQueries } from './message-queries.js';
import type { PageAccess } from './page-access.js';
import { seeOther } from './page-answer.js';
import type { PageRequest } from './page-request.js';
import { severalAtOnce } from './several-at-once.js';
import type { ShownValues } from './shown-values.js';

/** Messages that are not delivered any more, and another round for them. */
export class DeadLetters {
  private readonly logger = new Logger('IdempotencyOperatorPage');

  constructor(
    private readonly outbox: Outbox,
    private readonly queries: { messages: MessageQueries; audit: AuditQueries },
    private readonly access: PageAccess,
    private readonly values: ShownValues,
    private readonly frame: Frame,
  ) {}

  async list(request: PageRequest): Promise<Answer> {
    const { query, links, visitor } = request;
    const topic = query.text('topic');
    const letters = await this.find(topic, LETTERS_LIMIT + 1);
    const open = query.text('values') === 'shown';
    return this.frame.show(request, { title: 'Dead letters', nav: 'letters' }, [
      this.frame.notes(request),
      lettersView({ letters, topic, open }, links, visitor, this.values),
    ]);
  }

  async show(request: PageRequest): Promise<Answer> {
    const { query, links, visitor } = request;
    const scope = query.text('scope') ?? '';
    const id = query.text('id') ?? '';
    const { messages, audit } = this.queries;
    const message = isUuid(id) ? await messages.inspect(scope, id) : undefined;
    const entries = isUuid(id) ? await audit.ofMessage({ scope, id }) : [];
    if (!message && entries.length === 0) {
      const detail = 'It was delivered, or it never existed.';
      return this.frame.refuse(request, 404, 'No such message', detail, links.to('letters'));
    }
    const shown = { scope, id, message, audit: entries, open: query.text('values') === 'shown' };
    return this.frame.show(request, { title: 'Message', nav: 'letters' }, [
      this.frame.notes(request),
      letterView(shown, links, visitor, this.values),
    ]);
  }

  /** Requeues the chosen letters, or counts what would happen to all letters of the list. */
  async requeue(request: PageRequest): Promise<Answer> {
    const { form, links } = request;
    const reason = reasonIn(form);
    if (form.text('which') === 'all') return this.dryRun(request, reason);
    const chosen = new Set<string>();
    for (const [name, value] of form.entries) if (/^item\d+$/.test(name)) chosen.add(value);
    const topic = form.text('topic');
    const back = links.to('letters', { topic });
    if (chosen.size === 0) {
      return this.frame.refuse(request, 400, 'Nothing was changed', 'Choose messages first.', back);
    }
    const { forbidden, gone, failure } = await this.requeueEach(request, [...chosen], reason);
    const refuse = (status: number, detail: string) =>
      this.frame.refuse(request, status, 'Not all messages were requeued', detail, back);
    if (failure) {
      return refuse(failure.status, `${gone} of the messages are left: ${failure.detail}`);
    }
    if (forbidden > 0) return refuse(403, `You may not requeue ${forbidden} of the messages.`);
    if (gone > 0) {
      return refuse(
        409,
        `${gone} of the messages are not dead letters any more; somebody else was faster. The others were requeued.`,
      );
    }
    const [id] = chosen;
    return seeOther(
      form.text('from') === 'letter'
        ? links.to('letter', { scope: form.text('scope'), id, done: 'requeue' })
        : links.to('letters', { topic, done: 'requeue' }),
    );
  }

  private async dryRun(request: PageRequest, reason: string): Promise<Answer> {
    const { form, links, raw } = request;
    const topic = form.text('topic');
    const letters = await this.find(topic, LETTERS_LIMIT);
    const allowed: DeadLetter[] = [];
    for (const letter of letters) {
      if ((await this.authorise(raw, letter)) !== undefined) allowed.push(letter);
    }
    const preview = requeuePreview(letters, allowed, { topic, reason }, links);
    return this.frame.show(request, { title: 'Dry run', nav: 'letters' }, preview);
  }

  /** Each message is authorised by itself, right before it is requeued. */
  private async requeueEach(
    { raw }: PageRequest,
    ids: readonly string[],
    why: string,
  ): Promise<{ forbidden: number; gone: number; failure: Failure | undefined }> {
    const letters = await this.outbox.deadLetters({ ids, limit: ids.length });
    let forbidden = 0;
    let requeued = 0;
    let failure: Failure | undefined;
    const requeue = async (letter: DeadLetter) => {
      const who = await this.authorise(raw, letter);
      if (who === undefined) {
        forbidden += 1;
      } else if (await this.outbox.requeue(letter.id, { who, why })) {
        requeued += 1;
        this.logger.log(`${who}: requeue of message ${letter.id}`);
      }
    };
    await severalAtOnce(letters, requeue).catch((error: unknown) => {
      failure = failureOf(error);
    });
    return { forbidden, gone: ids.length - forbidden - requeued, failure };
  }

  private find(topic: string | undefined, limit: number): Promise<DeadLetter[]> {
    return this.outbox.deadLetters({ limit, ...(topic !== undefined && { topic }) });
  }

  private authorise(request: unknown, letter: DeadLetter): Promise<string | undefined> {
    const { scope, id, topic } = letter;
    return this.access.authorise(request, { action: 'requeue', message: { scope, id, topic } });
  }
}
