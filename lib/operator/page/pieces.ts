import type { KeyStatus } from '../../schema/key-status.js';
import type { PhaseState } from '../../schema/phase-record.js';
import { html, visible, type Html, type HtmlValue } from './html.js';
import type { Links } from './links.js';

type Tone = 'good' | 'warn' | 'bad' | '';

const TONES: Record<KeyStatus, Tone> = {
  pending: '',
  in_progress: '',
  performed: 'good',
  completed: 'good',
  failed_retryable: 'warn',
  unknown: 'bad',
  expired: '',
};

const PHASE_TONES: Record<PhaseState, Tone> = {
  intended: 'bad',
  withdrawn: 'warn',
  reconciled: 'good',
  finished: 'good',
  rejected: 'warn',
};

export function pill(text: string, tone: Tone = ''): Html {
  return html`<span class="pill ${tone}">${text}</span>`;
}

export function statusPill(status: KeyStatus): Html {
  return pill(status, TONES[status]);
}

export function phasePill(state: PhaseState): Html {
  return pill(state, PHASE_TONES[state]);
}

export function note(tone: Tone, content: HtmlValue): Html {
  return html`<p class="note ${tone}" role="${tone === 'bad' ? 'alert' : 'status'}">${content}</p>`;
}

/** Stands for a missing value. */
export function none(): Html {
  return html`<span class="none">–</span>`;
}

export function keyLink({ id, key }: { id: string; key: string }, links: Links): Html {
  return html`<a href="${links.to('key', { id })}"><code>${visible(key)}</code></a>`;
}

/** Text that people copy. The button needs the script; without it, a click selects the text. */
export function copyable(text: string): Html {
  return html`<span
    ><code class="select">${visible(text)}</code>
    <button type="button" class="plain small" data-copy="${text}" hidden>Copy</button></span
  >`;
}

export function routeOf(key: { method: string | null; route: string | null }): Html {
  if (key.route === null) return html`<span class="quiet">–</span>`;
  return html`<code>${visible(`${key.method ?? ''} ${key.route}`.trim())}</code>`;
}

/** A scope; the empty one is global. */
export function scopeOf(scope: string): Html {
  return scope === ''
    ? html`<span class="quiet">global</span>`
    : html`<code>${visible(scope)}</code>`;
}

export function hidden(fields: Iterable<readonly [string, string | undefined]>): Html[] {
  return [...fields].flatMap(([name, value]) =>
    value === undefined ? [] : [html`<input type="hidden" name="${name}" value="${value}" />`],
  );
}
