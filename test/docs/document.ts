import { readFile } from 'node:fs/promises';

/** The rows of the Markdown table with this heading in its first cell, as objects without backticks. */
export async function tableOf(document: string, firstHeading: string): Promise<string[][]> {
  const lines = (await read(document)).split('\n');
  const start = lines.findIndex((line) => cells(line)[0] === firstHeading);
  if (start < 0) throw new Error(`${document} has no table that begins with "${firstHeading}".`);
  const end = lines.findIndex((line, at) => at > start && !line.startsWith('|'));
  return lines.slice(start + 2, end < 0 ? undefined : end).map(cells);
}

/** The arrows of the state diagram, as `from --> to`. */
export async function arrowsOf(document: string): Promise<string[]> {
  const text = await read(document);
  return [...text.matchAll(/^ {2}(\S+ --> \S+):/gm)].map(([, arrow]) => arrow!);
}

function read(document: string): Promise<string> {
  return readFile(new URL(`../../docs/${document}`, import.meta.url), 'utf8');
}

function cells(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim().replaceAll('`', ''));
}
