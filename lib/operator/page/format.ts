import { html, type Html } from './html.js';

const UNITS: [name: string, ms: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
];

/** The two largest units of a span of time: `3 d 4 h`. */
export function span(milliseconds: number): string {
  let rest = Math.max(0, milliseconds);
  const parts: string[] = [];
  for (const [name, ms] of UNITS) {
    const count = Math.floor(rest / ms);
    rest -= count * ms;
    if (count > 0 || parts.length > 0) parts.push(`${count} ${name}`);
    if (parts.length === 2) break;
  }
  return parts.filter((part) => !part.startsWith('0 ')).join(' ') || '0 s';
}

/** A time with its distance from now, by the clock of this process. */
export function time(at: Date | null | undefined, now = Date.now()): Html {
  if (!at) return html`<span class="none">–</span>`;
  const iso = at.toISOString();
  const distance = at.getTime() - now;
  const words = distance > 0 ? `in ${span(distance)}` : `${span(-distance)} ago`;
  return html`<time datetime="${iso}" title="${iso}"
    >${iso.slice(0, 19).replace('T', ' ')} <small>${words}</small></time
  >`;
}

/** A time as its distance from now; the tooltip has the full time. */
export function age(at: Date, now = Date.now()): Html {
  const iso = at.toISOString();
  return html`<time datetime="${iso}" title="${iso}">${span(now - at.getTime())}</time>`;
}

export function number(count: number): string {
  return count.toLocaleString('en-US');
}

/** A count that stops at a limit. */
export interface Counted {
  count: number;
  /** There are more than that. */
  more: boolean;
}

export function counted({ count, more }: Counted): string {
  return `${number(count)}${more ? '+' : ''}`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}
