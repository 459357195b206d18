import type { RunResult } from '../runs/run-result.js';
import type { WrongDelivery } from '../runs/redelivery.js';
import { subjectOf } from './judge-calls.js';
import type { Finding } from './finding.js';

/** Whether a message that was delivered twice was acted upon once, and a failed one was kept. */
export function judgeDelivery({ redelivered }: RunResult): Finding[] {
  if (!redelivered) return [];
  const tables = new Set(redelivered.changes.map(({ table }) => table));
  const rows = [...tables].map((table): Finding => ({
    code: 'delivery_differs',
    subject: table,
    message: `The second delivery of a message changed table ${table} again.`,
  }));
  const counts = Object.entries(redelivered.observed)
    .filter(([, change]) => change !== 0)
    .map(([name, change]): Finding => ({
      code: 'delivery_differs',
      subject: name,
      message: `The second delivery of a message changed "${name}" of observe() by ${change}.`,
    }));
  return [...rows, ...counts, ...redelivered.wrong.map(findingOf)];
}

function findingOf({ topic, error, call }: WrongDelivery): Finding {
  if (!call) {
    return {
      code: 'delivery_failed',
      subject: topic,
      message: `The delivery of a message for "${topic}" failed, although nobody disturbed it: ${error}`,
    };
  }
  return {
    code: 'call_not_awaited',
    subject: subjectOf(call),
    message: `The handler of "${topic}" returned as if it had delivered the message, although the answer of its call (${call.to}) got lost. The message is gone, and nobody will try again.`,
    place: call.by.place,
  };
}
