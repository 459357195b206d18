import type { Verdict } from './narrator.js';
import { duration, paint, print } from './terminal.js';

/** The last lines of the demo. Returns whether every chapter was told and every claim held. */
export function printSummary(verdicts: Verdict[], chapters: number): boolean {
  print();
  for (const { chapter, checks, broken, ms } of verdicts) {
    const mark = broken === 0 ? paint('green', '✓') : paint('red', '✗');
    print(`${duration(ms)}  ${mark} ${chapter} ${paint('gray', `(${checks} checks)`)}`);
  }
  const held = verdicts.length === chapters && verdicts.every(({ broken }) => broken === 0);
  print();
  print(
    held
      ? paint(
          ['bold', 'green'],
          'Every expectation held: nothing was charged twice, nothing was lost.',
        )
      : paint(['bold', 'red'], 'Not every expectation held; see ✗ above.'),
  );
  return held;
}
