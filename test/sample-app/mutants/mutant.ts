import { relative } from 'node:path';
import type ts from 'typescript';
import { SAMPLE } from './sources.js';

/** What is replaced in the text of a file. */
export interface Edit {
  start: number;
  end: number;
  text: string;
}

/** The sample app with one mistake in it. */
export interface Mutant {
  /** `effect key removed`, `tx not used`, … */
  kind: string;
  /** From the folder of the sample: `rides/rides.service.ts`. */
  file: string;
  line: number;
  /** The source of the place, shortened. */
  what: string;
  /** The routes and outbox handlers whose requests come to the place. */
  entries: ReadonlySet<string>;
  /** The text of the file with the mistake. */
  text: string;
}

/** A mistake that can be made at a node, before anybody knows whether it compiles. */
export interface Mistake {
  kind: string;
  at: ts.Node;
  edits: Edit[];
}

export function mutantOf({ kind, at, edits }: Mistake, entries: ReadonlySet<string>): Mutant {
  const source = at.getSourceFile();
  const { line } = source.getLineAndCharacterOfPosition(at.getStart());
  const what = at.getText().replaceAll(/\s+/g, ' ');
  return {
    kind,
    file: relative(SAMPLE, source.fileName),
    line: line + 1,
    what: what.length > 60 ? `${what.slice(0, 59)}…` : what,
    entries,
    text: withEdits(source.text, edits),
  };
}

export function nameOf({ kind, file, line, what }: Mutant): string {
  return `${file}:${line} ${kind}: ${what}`;
}

export function replace(node: ts.Node, text: string): Edit {
  return { start: node.getStart(), end: node.end, text };
}

export function insert(position: number, text: string): Edit {
  return { start: position, end: position, text };
}

/** The last one first, so that positions stay right; of two at one place, the later one comes later. */
function withEdits(text: string, edits: readonly Edit[]): string {
  const order = edits.toSorted((one, other) => one.start - other.start || one.end - other.end);
  return order.reduceRight(
    (changed, edit) => changed.slice(0, edit.start) + edit.text + changed.slice(edit.end),
    text,
  );
}
