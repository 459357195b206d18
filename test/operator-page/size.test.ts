import { describe, expect, it } from '@jest/globals';
import { html } from '../../lib/operator/page/html.js';
import { Links } from '../../lib/operator/page/links.js';
import { SCRIPT } from '../../lib/operator/page/script.js';
import { page } from '../../lib/operator/page/shell.js';
import { ICON, STYLE } from '../../lib/operator/page/style.js';

describe('The operator page', () => {
  const links = new Links({ method: 'GET', url: '/operator', headers: {} }, '');
  const shell = page(
    { links, visitor: { who: 'ada', may: () => true } },
    'production',
    { title: 'Overview', live: true },
    html`<h1>Overview</h1>`,
  ).text;

  it('is small: shell, style, script and icon are under 60 KB together', () => {
    const bytes = [shell, STYLE, SCRIPT, ICON].map((text) => Buffer.byteLength(text));
    expect(bytes.reduce((sum, each) => sum + each)).toBeLessThan(60 * 1024);
  });

  it('loads nothing from elsewhere, and has no script or style in the page itself', () => {
    const withoutNamespace = ICON.replace('http://www.w3.org/2000/svg', '');
    for (const text of [shell, STYLE, SCRIPT, withoutNamespace]) {
      expect(text).not.toMatch(/https?:|\/\/[a-z]+\.|@import|url\(/);
    }
    expect(shell).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son[a-z]+=/);
  });
});
