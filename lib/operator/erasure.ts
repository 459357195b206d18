import type { DataKeys } from '../encryption/data-keys.js';
import type { ReplayCache } from '../keys/replay-cache.js';
import { actorOf, refuse, type By, type Refused } from '../resolution/operator-result.js';
import { scopeLabel } from '../telemetry/key-labels.js';
import { publish } from '../telemetry/publish.js';
import type { ErasureStore, OpenWork } from './erasure-store.js';

export interface EraseOptions {
  /**
   * Erase although work of the scope is not finished. What is lost by that is in
   * the result and in the audit.
   * @default false
   */
  force?: boolean;
}

/** The result of an erasure. A refused one has changed nothing. */
export type Erasure =
  | {
      erased: true;
      /** How many keys became tombstones. */
      keys: number;
      /** What was not finished, and cannot be any more. Empty unless it was forced. */
      lost: OpenWork;
    }
  | (Refused & {
      erased: false;
      /** What is not finished. */
      open: OpenWork;
    });

const NOTHING: OpenWork = { keys: [], messages: [] };

/** Erases scopes: deletes their data keys, and then cleans up what nobody can read any more. */
export class Erasures {
  constructor(
    private readonly store: ErasureStore,
    private readonly replays: ReplayCache,
    /** Undefined without the `encryption` option. */
    private readonly dataKeys: DataKeys | undefined,
  ) {}

  async erase(scope: string, by: By, { force = false }: EraseOptions): Promise<Erasure> {
    const { dataKeys, store } = this;
    const actor = actorOf(by);
    if (typeof scope !== 'string' || !actor) {
      return refused(refuse('invalid', 'Say which scope, and who decides this.'));
    }
    if (!dataKeys) {
      const detail =
        'Only sealed data can be erased by deleting a key, and this module has no encryption option. Without it, data stays in backups and write-ahead logs whatever is deleted here.';
      return refused(refuse('invalid', detail));
    }
    if (await store.isHeld(scope)) {
      const detail =
        'A key of this scope is held, and what is held may not go. Release the hold first.';
      return refused(refuse('held', detail));
    }
    if (await store.hasPlaintext(scope)) {
      const detail =
        'Some data of this scope is not sealed yet and would stay readable. Run reencrypt() first.';
      return refused(refuse('plaintext', detail));
    }
    const open = await store.openWork(scope);
    if (!force && open.keys.length + open.messages.length > 0) return refusedAs(open);
    const deleted = await store.deleteDataKey(scope, actor, force);
    // Keys of an erasure that was interrupted are still to be buried.
    const done = await this.cleanUp(scope, actor.who);
    if (!deleted && done.keys === 0 && done.lost.messages.length === 0) {
      const now = await store.openWork(scope);
      if (now.keys.length + now.messages.length > 0) return refusedAs(now);
      return refused(
        refuse('not_found', 'Nothing is sealed for this scope, so nothing was erased.'),
      );
    }
    publish('erased', () => ({ scope: scopeLabel(scope), who: actor.who, keys: done.keys }));
    return { erased: true, ...done };
  }

  private async cleanUp(scope: string, who: string): Promise<{ keys: number; lost: OpenWork }> {
    this.dataKeys!.forget(scope);
    this.replays.clear();
    const lost: OpenWork = { keys: [], messages: [] };
    let keys = 0;
    for (let batch = await this.store.bury(scope, who); batch.buried > 0;) {
      keys += batch.buried;
      lost.keys.push(...batch.open);
      batch = await this.store.bury(scope, who);
    }
    for (let batch = await this.store.discard(scope, who); batch.length > 0;) {
      lost.messages.push(...batch);
      batch = await this.store.discard(scope, who);
    }
    return { keys, lost };
  }
}

function refused(refusal: Refused, open: OpenWork = NOTHING): Erasure {
  return { ...refusal, erased: false, open };
}

function refusedAs(open: OpenWork): Erasure {
  const doubts = open.keys.filter(({ effectKey }) => effectKey !== null).length;
  const detail =
    `${open.keys.length} key(s) of this scope are not finished, ${doubts} of them with a foreign call whose outcome is not recorded, and ${open.messages.length} message(s) are not delivered. ` +
    'Finish, resolve or expire them first; or erase with { force: true }, which makes tombstones of them and names them.';
  return refused(refuse(doubts > 0 ? 'in_doubt' : 'not_finished', detail), open);
}
