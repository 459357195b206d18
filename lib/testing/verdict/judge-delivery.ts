import type { RunResult } from '../runs/run-result.js';
import { subjectOf } from './judge-calls.js';
import type { Finding } from './finding.js';

/** Whether a message that was delivered twice was acted upon once, and a failed one was kept. */
export function judgeDelivery({ redelivered, record }: RunResult): Finding[] {
  if (!redelivered) return [];
  // Messages of other runs may be in the outbox as well.
  const failed = record.deliveryErrors.filter(({ id }) => redelivered.messages.includes(id));
  if (failed.length > 0) {
    return failed.map(({ topic, error }) => ({
      code: 'delivery_failed',
      subject: topic,
      message: `A message of topic "${topic}" could not be delivered: ${error}`,
    }));
  }
  const { changes, observed, calls, messages, unheard } = redelivered;
  const rows = [...new Set(changes.map(({ table }) => table))].map((table): Finding => {
    const message = `The second delivery of a message changed table ${table} again.`;
    return { code: 'delivery_differs', subject: table, message };
  });
  const counts = Object.entries(observed).flatMap(([name, change]): Finding[] => {
    if (change === 0) return [];
    const message = `The second delivery of a message changed "${name}" of observe() by ${change}.`;
    return [{ code: 'delivery_differs', subject: name, message }];
  });
  // The other system can tell by the key of the request, or by the message's id somewhere in it.
  const known = new Set(calls.first.map((call) => call.keyHeader));
  const requests = calls.second.flatMap((call): Finding[] => {
    if (call.safe || !call.sent) return [];
    if (call.keyHeader !== undefined && known.has(call.keyHeader)) return [];
    if (messages.some((id) => call.carries(id))) return [];
    const message = `The second delivery of a message called ${call.to} again, without a key by which it could be recognised.`;
    return [{ code: 'delivery_differs', subject: call.to, message, place: call.by.place }];
  });
  const losses = unheard.map(({ topic, call }): Finding => {
    const message = `The handler of "${topic}" returned as if it had delivered its message, although the answer of its call (${call.to}) got lost. The message is gone, and nobody will try again.`;
    return { code: 'call_not_awaited', subject: subjectOf(call), message, place: call.by.place };
  });
  return [...rows, ...counts, ...requests, ...losses];
}
