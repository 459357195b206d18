import { awaitMistakes } from './awaits.js';
import { effectKeyMistakes } from './effect-keys.js';
import { moveMistakes } from './moves.js';
import { mutantOf, type Mutant } from './mutant.js';
import { reachOf } from './reach.js';
import { Sources, type Fault } from './sources.js';
import { transactionMistakes } from './transactions.js';

export interface Mutants {
  /** Those that compile. */
  mutants: Mutant[];
  /** What the compiler refuses, and why. */
  refused: { mutant: Mutant; fault: Fault }[];
  /** The files that the app consists of, without extension. */
  files: string[];
}

/** All mutants of the sample app: each mistake at each place where it can be made. */
export function generateMutants(): Mutants {
  const sources = new Sources();
  const { checker } = sources;
  const all = [...reachOf(sources)].flatMap(([{ body }, entries]) =>
    [effectKeyMistakes, transactionMistakes, awaitMistakes, moveMistakes]
      .flatMap((mistakes) => mistakes(body!, checker))
      .map((mistake) => mutantOf(mistake, entries)),
  );
  const faults = sources.faultsOf(all);
  return {
    mutants: all.filter((_, index) => faults[index] === undefined),
    refused: all.flatMap((mutant, index) => {
      const fault = faults[index];
      return fault === undefined ? [] : [{ mutant, fault }];
    }),
    files: sources.names,
  };
}
