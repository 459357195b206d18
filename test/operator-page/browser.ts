import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'puppeteer-core';

/** Kept after the run, for people: git does not see it. */
const ARTEFACTS = join(process.cwd(), 'coverage', 'operator-page');

export interface Tab {
  page: Page;
  /** What went wrong in the page: errors of scripts, and whatever its policy has blocked. */
  complaints: string[];
  /** Follows a link, or sends a form, and waits for what comes. */
  click(selector: string): Promise<void>;
  /** What a person can read on the page. */
  text(): Promise<string>;
  /** At once: typing letter by letter takes its time. */
  fill(selector: string, text: string): Promise<void>;
  valueOf(selector: string): Promise<string>;
  /** An expression of the page. A text, because these tests know no types of browsers. */
  evaluate<T>(expression: string): Promise<T>;
}

export interface TestBrowser {
  /** A tab with cookies of its own, signed in as somebody. It is closed at the end of the test. */
  open(user?: string, options?: { script?: boolean }): Promise<Tab>;
  /** A picture of the whole page, or of one element of it. Returns its path. */
  shoot(page: Page, name: string, selector?: string): Promise<string>;
}

/**
 * Tests in a real browser, one for the file. `TEST_BROWSER` is the path of
 * another one. Where there is none, the tests are skipped, and a line says so.
 */
export function describeInBrowser(name: string, tests: (browser: TestBrowser) => void): void {
  const unavailable = whyUnavailable();
  if (unavailable !== undefined) {
    console.warn(`Skipped: "${name}" needs a browser. ${unavailable}`);
  }
  const describeOrSkip = unavailable === undefined ? describe : describe.skip;
  describeOrSkip(name, () => {
    let browser: Browser | undefined;
    const opened: BrowserContext[] = [];
    beforeAll(async () => {
      browser = await launch();
    });
    // A page refreshes itself as long as it is open, which costs later tests time.
    afterEach(() => Promise.all(opened.splice(0).map((context) => context.close())));
    afterAll(() => browser?.close());
    tests({
      async open(user, options) {
        const context = await browser!.createBrowserContext();
        opened.push(context);
        return openTab(context, user, options);
      },
      async shoot(page, file, selector) {
        await mkdir(ARTEFACTS, { recursive: true });
        const path = join(ARTEFACTS, `${file}.png`) as `${string}.png`;
        if (selector === undefined) await page.screenshot({ path, fullPage: true });
        else await (await page.waitForSelector(selector))!.screenshot({ path });
        return path;
      },
    });
  });
}

function whyUnavailable(): string | undefined {
  if (process.env['TEST_BROWSER'] !== undefined) return undefined;
  if (process.platform === 'linux' && process.arch === 'x64') return undefined;
  return `The one from npm is for Linux on x64, and this is ${process.platform} on ${process.arch}. Set TEST_BROWSER to the path of Chrome or Chromium.`;
}

async function launch(): Promise<Browser> {
  const { default: puppeteer } = await import('puppeteer-core');
  return puppeteer.launch({
    executablePath: process.env['TEST_BROWSER'] ?? (await browserFromNpm()),
    headless: 'shell',
    // Containers run as root and have little shared memory.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars'],
  });
}

/** Unpacks it into the folder for temporary files, once. */
async function browserFromNpm(): Promise<string> {
  const { default: chromium } = await import('@sparticuz/chromium');
  return chromium.executablePath();
}

async function openTab(
  context: BrowserContext,
  user: string | undefined,
  { script = true }: { script?: boolean } = {},
): Promise<Tab> {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warn') complaints.push(message.text());
  });
  // Whatever an attempt at XSS wants to do, it can be seen here.
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.setJavaScriptEnabled(script);
  if (user !== undefined) await page.setExtraHTTPHeaders({ 'x-user': user });
  return {
    page,
    complaints,
    async click(selector) {
      await Promise.all([page.waitForNavigation({ waitUntil: 'load' }), page.click(selector)]);
    },
    text: () => page.evaluate('document.body.innerText') as Promise<string>,
    fill: (selector, text) =>
      page.$eval(
        selector,
        (field, value) => void ((field as { value?: string }).value = value),
        text,
      ),
    valueOf: (selector) =>
      page.$eval(selector, (field) => (field as { value?: string }).value ?? ''),
    evaluate: <T>(expression: string) => page.evaluate(expression) as Promise<T>,
  };
}
