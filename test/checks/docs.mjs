// Links of the README, the changelog, the book and the bench lead to files and
// headings that exist; every page of the book can be reached from its contents;
// and the README is short enough to be read.
//
//   npm run check:docs
import { existsSync } from 'node:fs';
import { join, posix } from 'node:path';
import { slug } from '../../docs/.vitepress/slug.mjs';
import { pages, proseOf, textOf } from './docs/pages.mjs';
import { ROOT } from './run.mjs';

/** More is not read before somebody decides. */
const LONGEST_README = 200;

const LINK = /\]\(([^)\s]+)[^)]*\)|^\[[^\]]+\]: (\S+)|(?:href|src)="([^"]+)"/gm;

/** @type {Map<string, Set<string>>} */
const anchors = new Map();
/** @type {string[]} */
const faults = [];
/** @type {Map<string, Set<string>>} */
const linked = new Map();

const all = pages();
for (const page of all) {
  /** @type {Set<string>} */
  const targets = new Set();
  for (const [, inline, reference, html] of proseOf(page).matchAll(LINK)) {
    const link = inline ?? reference ?? html ?? '';
    if (/^[a-z]+:/.test(link)) continue;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : posix.join(posix.dirname(page), path);
    targets.add(target);
    if (!existsSync(join(ROOT, target))) faults.push(`${page}: ${link} leads nowhere`);
    else if (anchor !== undefined && !anchorsOf(target).has(anchor)) {
      faults.push(`${page}: ${link} names no heading of ${target}`);
    }
  }
  linked.set(page, targets);
}

/** Records of decisions have an order of their own. */
const book = all.filter((page) => /^docs\/(?!adr\/)/.test(page) && page !== 'docs/index.md');
for (const page of book.filter((each) => !linked.get('docs/index.md')?.has(each))) {
  faults.push(`docs/index.md: the contents lack ${page}`);
}

// The pages can be read one after another, without the contents.
const read = new Set();
for (let page = 'docs/getting-started.md'; book.includes(page) && !read.has(page);) {
  read.add(page);
  const [, next = ''] = /^Next: \[[^\]]+\]\(([^)#]+)/m.exec(textOf(page)) ?? [];
  page = posix.join(posix.dirname(page), next);
}
for (const page of book.filter((each) => !read.has(each))) {
  faults.push(`${page}: no chain of "Next:" leads to it from docs/getting-started.md`);
}

const lines = textOf('README.md').trimEnd().split('\n').length;
if (lines > LONGEST_README) {
  faults.push(
    `README.md: ${lines} lines; at most ${LONGEST_README} are read. Move some into docs/`,
  );
}

if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exitCode = 1;
}

/** @param {string} page */
function anchorsOf(page) {
  let found = anchors.get(page);
  if (!found) {
    /** @type {Map<string, number>} */
    const seen = new Map();
    found = new Set();
    for (const [, heading = ''] of proseOf(page).matchAll(/^#{1,6} (.+)$/gm)) {
      const plain = slug(heading.replaceAll(/[`*]|\[([^\]]*)\]\([^)]*\)/g, '$1'));
      const times = seen.get(plain) ?? 0;
      seen.set(plain, times + 1);
      found.add(times === 0 ? plain : `${plain}-${times}`);
    }
    anchors.set(page, found);
  }
  return found;
}
