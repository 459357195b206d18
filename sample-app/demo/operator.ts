import { OPERATOR_PATH, SAMPLE_OPERATOR, SAMPLE_PASSWORD } from '../configuration.js';
import type { Narrator } from './narrator.js';
import { paint } from './terminal.js';

/** What a person fills in on the operator page, by the names of the fields. */
type Filled = Record<string, string>;

/** A person at the operator page: reads its pages and sends its forms, as a browser does. */
export class Operator {
  constructor(
    private readonly narrator: Narrator,
    private readonly appUrl: string,
  ) {}

  /** Looks a key up, says what became of it, reads the preview, and confirms it. */
  async resolve(key: string, filled: Filled): Promise<{ preview: string; done: string }> {
    const begun = performance.now();
    const list = await this.get(`/keys?key=${encodeURIComponent(key)}`);
    const id = /key\?id=([^"&]+)/.exec(list)?.[1] ?? '';
    const form = fieldsOf(await this.get(`/key?id=${id}`), 'resolve');
    const preview = await this.submit({ ...form, ...filled, step: 'preview' });
    const done = await this.submit({ ...fieldsOf(preview, 'resolve'), step: 'do' });
    this.narrator.event(
      performance.now() - begun,
      `${this.appUrl}/${OPERATOR_PATH} ${paint('gray', `key ${key}`)} → resolved as ${filled['outcome']}`,
    );
    return { preview, done };
  }

  private async get(path: string): Promise<string> {
    return this.ask(path, {});
  }

  private submit(fields: Filled): Promise<string> {
    return this.ask('/decide', { method: 'POST', body: new URLSearchParams(fields) });
  }

  private async ask(path: string, init: RequestInit): Promise<string> {
    const credentials = Buffer.from(`${SAMPLE_OPERATOR}:${SAMPLE_PASSWORD}`).toString('base64');
    const response = await fetch(`${this.appUrl}/${OPERATOR_PATH}${path}`, {
      ...init,
      // Browsers say where a form comes from; the page takes none without it.
      headers: { authorization: `Basic ${credentials}`, origin: this.appUrl },
    });
    return response.text();
  }
}

/** The hidden fields of the form for an action. */
function fieldsOf(page: string, action: string): Filled {
  const forms = page.split('<form').slice(1);
  const form = forms.find((each) => each.includes(`name="action" value="${action}"`)) ?? '';
  const fields: Filled = {};
  for (const [input] of form.matchAll(/<input type="hidden"[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(input)?.[1] ?? '';
    fields[name] = unescape(/value="([^"]*)"/.exec(input)?.[1] ?? '');
  }
  return fields;
}

function unescape(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
}
