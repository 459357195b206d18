import { html, visible, type Html, type HtmlValue } from './html.js';
import type { PageName } from './links.js';
import type { PageRequest } from './page-request.js';
import { OPERATOR_ACTIONS } from './page.options.js';

/** What surrounds every page. */
export interface Shell {
  title: string;
  /** Which entry of the navigation it belongs to. */
  nav?: PageName;
  /** Whether parts of it are refreshed by the script. */
  live?: boolean;
}

const NAVIGATION: [PageName, string][] = [
  ['', 'Overview'],
  ['keys', 'Keys'],
  ['letters', 'Dead letters'],
];

export function page(
  { links, visitor }: Pick<PageRequest, 'links' | 'visitor'>,
  environment: string | undefined,
  { title, nav, live }: Shell,
  content: HtmlValue,
): Html {
  const whole = [title, environment, 'Idempotency'].filter((part) => part !== undefined);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex, nofollow" />
        <meta name="color-scheme" content="light dark" />
        <title>${whole.join(' · ')}</title>
        <link rel="icon" href="${links.to('icon.svg')}" type="image/svg+xml" />
        <link rel="stylesheet" href="${links.to('style.css')}" />
        <script src="${links.to('script.js')}" defer></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
          <div class="bar">
            <a class="brand" href="${links.to('')}">Idempotency</a>
            ${environment !== undefined && html`<span class="badge${/^prod/i.test(environment) ? ' danger' : ''}">${visible(environment)}</span>`}
            <nav aria-label="Pages">
              ${NAVIGATION.map(
                ([name, label]) =>
                  html`<a href="${links.to(name)}" ${name === nav ? html` aria-current="page"` : ''}
                    >${label}</a
                  >`,
              )}
            </nav>
            <div class="who">
              ${live && html`<label data-live-control hidden><input type="checkbox" checked /> <span>Live</span></label>`}
              ${visitor.who !== undefined && html`<span>Signed in as <b>${visible(visitor.who)}</b></span>`}
              ${!OPERATOR_ACTIONS.some((action) => visitor.may(action)) && html`<span class="pill">read-only</span>`}
            </div>
          </div>
        </header>
        <main id="main">${content}</main>
        <footer>All times are in UTC. Each decision goes into the audit, with your name.</footer>
      </body>
    </html> `;
}
