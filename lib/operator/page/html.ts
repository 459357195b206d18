/**
 * Markup that is safe to send. Only `html` creates it, so text can never be
 * mistaken for markup.
 */
export class Html {
  /** @internal */
  private constructor(readonly text: string) {}

  /** For `html` only: nothing else may turn text into markup. */
  static readonly of = (strings: TemplateStringsArray, values: readonly HtmlValue[]): Html =>
    new Html(strings.reduce((text, part, index) => text + render(values[index - 1]) + part));
}

export type HtmlValue = Html | string | number | false | null | undefined | readonly HtmlValue[];

/**
 * A template whose values are escaped, whatever they are. Attributes have to be
 * in double quotes. Nothing is shown for false, null and undefined, so
 * `${condition && html`…`}` works.
 */
export function html(strings: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return Html.of(strings, values);
}

function render(value: HtmlValue): string {
  if (value instanceof Html) return value.text;
  if (value === false || value === null || value === undefined) return '';
  if (typeof value === 'string') return escape(value);
  if (typeof value === 'number') return String(value);
  return value.map(render).join('');
}

const ESCAPED: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

function escape(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => ESCAPED[character]!);
}

/**
 * Characters that are invisible, or that change the order of the text around
 * them. Clients choose their keys, and must not be able to make one look like
 * another.
 */
const INVISIBLE =
  // oxlint-disable-next-line no-control-regex -- these are what it is about
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Text from outside, with invisible characters spelled out. */
export function visible(text: string): Html {
  const spelt = text.replace(
    INVISIBLE,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
  return html`<bdi>${spelt}</bdi>`;
}
