import { Batcher, Failed, type BatcherOptions } from './batcher.js';

/** Sends the items of callers as statements. */
export interface StatementSender<In, Out> {
  /** @param alone sent by itself */
  call(item: In, alone?: boolean): Promise<Out>;
}

/** @param send gets at least one item and returns one result for each, in order */
export type Send<In, Out> = (items: In[]) => Promise<(Out | Failed)[]>;

/** The plain implementation: one statement per call. */
class SingleStatements<In, Out> implements StatementSender<In, Out> {
  constructor(private readonly send: Send<In, Out>) {}

  async call(item: In): Promise<Out> {
    const [result] = await this.send([item]);
    if (result instanceof Failed) throw result.error;
    return result as Out;
  }
}

/** Concurrent calls share a statement, or each has its own; callers see no difference. */
export function senderOf<In, Out>(
  batching: boolean,
  send: Send<In, Out>,
  options: BatcherOptions<In>,
): StatementSender<In, Out> {
  return batching ? new Batcher(send, options) : new SingleStatements(send);
}
