import type { RunResult } from '../runs/run-result.js';
import type { Finding } from './finding.js';

/** Whether a message that was delivered twice was acted upon once. */
export function judgeDelivery(
  { redelivered, record }: RunResult,
  { record: undisturbed }: RunResult,
): Finding[] {
  if (!redelivered) return [];
  void record;
  void undisturbed;
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
  return [...rows, ...counts];
}
