import type { CrashSafetyOptions } from '../crash-safety.options.js';
import { countOf } from '../runs/observed-counts.js';
import type { RunResult } from '../runs/run-result.js';
import type { Finding } from './finding.js';

/** Whether the counts of the user changed as in an undisturbed run. */
export function judgeObserved(result: RunResult, undisturbed: readonly RunResult[]): Finding[] {
  const names = Object.keys(result.observed);
  return names.flatMap((name) => {
    const change = result.observed[name]!;
    const expected = undisturbed.map(({ observed }) => observed[name] ?? 0);
    const fine =
      result.outcome === 'final'
        ? expected.includes(change)
        : Math.abs(change) <= Math.max(...expected.map(Math.abs));
    if (fine) return [];
    return [
      {
        code: 'observed_differs',
        subject: name,
        message: `"${name}" of observe() did not change as it does without a disturbance.`,
        evidence: `It changed by ${change} instead of ${expected.at(-1)}.`,
      },
    ];
  });
}

/** Whether the undisturbed run did what the user expects of it. */
export function judgeExpected(
  { observed }: RunResult,
  expected: CrashSafetyOptions['expected'] = {},
): Finding[] {
  return Object.entries(expected).flatMap(([name, value]) =>
    (observed[name] ?? 0) === countOf(value)
      ? []
      : [
          {
            code: 'not_as_expected',
            subject: name,
            message: `"${name}" of observe() changed by ${observed[name] ?? 0} without any disturbance; ${countOf(value)} was expected.`,
          },
        ],
  );
}
