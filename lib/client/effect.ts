/**
 * How a client and a foreign phase of the same process meet. They may come from
 * different copies of this package, one as ES modules and one as CommonJS, and a
 * client in a browser has no phases at all: so they share symbols of the process
 * and no module.
 */
const RUNNING = Symbol.for('nestjs-atomic-idempotency:running-effect');
const ANSWERED = Symbol.for('nestjs-atomic-idempotency:answered');
const NOT_EXECUTED = Symbol.for('nestjs-atomic-idempotency:not-executed');

/** The foreign phase around the running code, as a client needs to know it. */
export interface RunningEffect {
  /** The effect key. */
  key: string;
  /** 1 for the first run, +1 for each takeover. */
  attempt: number;
  /** An earlier attempt may have made this call already. */
  inDoubt: boolean;
  /** Fires when the lease is lost. */
  signal: AbortSignal;
  /** Of the request that was made under the effect key: a phase is one call. */
  fingerprint?: string;
  /** Sends the same request again, which is no second call. */
  again<T>(send: () => T): T;
}

type Look = () => RunningEffect | undefined;

const shared = () => globalThis as { [RUNNING]?: Look };

/** Lets clients find the phases of this copy of the package. */
export function showEffects(look: Look): void {
  const others = shared()[RUNNING];
  shared()[RUNNING] = () => look() ?? others?.();
}

/** The foreign phase whose call the running code is part of. */
export function runningEffect(): RunningEffect | undefined {
  return shared()[RUNNING]?.();
}

/** A definite answer of another system, as an error carries it. */
export interface DefiniteAnswer {
  status: number;
  body: unknown;
}

/** Says on an error which answer it stands for. */
export function markAnswered(error: Error, answer: DefiniteAnswer): void {
  Object.defineProperty(error, ANSWERED, { value: answer });
}

export function definiteAnswer(error: unknown): DefiniteAnswer | undefined {
  return (error as { [ANSWERED]?: DefiniteAnswer } | null | undefined)?.[ANSWERED];
}

/** Says on an error that the request certainly had no effect. */
export function markNotExecuted(error: Error): void {
  Object.defineProperty(error, NOT_EXECUTED, { value: true });
}

export function isNotExecuted(error: unknown): boolean {
  return (error as { [NOT_EXECUTED]?: boolean } | null | undefined)?.[NOT_EXECUTED] === true;
}
