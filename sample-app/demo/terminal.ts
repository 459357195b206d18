import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/** https://no-color.org, and nothing but text into pipes and files. */
const colours = Boolean(process.stdout.isTTY) && !process.env['NO_COLOR'];

export function paint(style: Style, text: string): string {
  return colours ? styleText(style, text) : text;
}

export function print(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/** `   14 ms` or `  2.1 s`, always as wide. */
export function duration(ms: number): string {
  return (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`).padStart(7);
}
