import { Logger } from '@nestjs/common';
import { errorLine } from '../../telemetry/error-line.js';
import { html, visible, type Html } from './html.js';
import type { OperatorPageOptions, ShownEffect, ShownValue } from './page.options.js';

/** Longer values are cut, so that the page stays fast. */
const LONGEST = 20_000;

/** Shows users' data, after `redact`, and links to the other system's dashboard. */
export class ShownValues {
  private readonly logger = new Logger('IdempotencyOperatorPage');

  constructor(private readonly options: Pick<OperatorPageOptions, 'redact' | 'link'>) {}

  show(value: unknown, where: ShownValue): Html {
    let shown: unknown = value;
    try {
      if (this.options.redact) shown = this.options.redact(value, where);
    } catch (error) {
      this.logger.error(
        `operatorPage.redact threw, so the value is not shown: ${errorLine(error)}`,
      );
      return html`<p class="quiet">Not shown: the application could not redact it.</p>`;
    }
    if (shown === undefined || shown === null) return html`<p class="quiet">${String(shown)}</p>`;
    const text = typeof shown === 'string' ? shown : (JSON.stringify(shown, null, 2) ?? '');
    return html`<pre tabindex="0">${visible(text.slice(0, LONGEST))}</pre>
      ${text.length > LONGEST && html`<p class="quiet">Cut after ${LONGEST} of ${text.length} characters.</p>`}`;
  }

  /** The address in the other system's dashboard; only http and https lead out of the page. */
  link(effect: ShownEffect): string | undefined {
    let address: unknown;
    try {
      address = this.options.link?.(effect);
    } catch (error) {
      this.logger.error(`operatorPage.link threw, so there is no link: ${errorLine(error)}`);
    }
    if (typeof address !== 'string' || !URL.canParse(address)) return undefined;
    const url = new URL(address);
    return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : undefined;
  }
}
