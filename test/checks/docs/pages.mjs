import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../run.mjs';

/**
 * @typedef {object} Fence
 * @property {string} page its path from the top of the repository
 * @property {number} line of its first line of code, from 1
 * @property {string} language
 * @property {string} note what stands behind the language
 * @property {string} code
 */

/** Pages outside docs/ that a reader of the book may come to. */
const OTHERS = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'bench/README.md',
  'sample-app/README.md',
];

/** Every page that people write, as paths from the top. Pages made of TSDoc are not among them. */
export function pages() {
  const results = listed('bench/results');
  return [...OTHERS.filter((page) => existsSync(join(ROOT, page))), ...listed('docs'), ...results];
}

/** @param {string} folder */
function listed(folder) {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => `${folder}/${file.replaceAll('\\', '/')}`)
    .filter((file) => file.endsWith('.md') && !/\/\.vitepress\/|^docs\/reference\/api\//.test(file))
    .toSorted();
}

/** @param {string} page */
export function textOf(page) {
  return readFileSync(join(ROOT, page), 'utf8');
}

/**
 * @param {string} page
 * @returns {Fence[]} its blocks of code, those inside lists included
 */
export function fencesOf(page) {
  const text = textOf(page);
  return [...text.matchAll(/^( *)```(\S*) ?(.*)\n([\s\S]*?)^\1```$/gm)].map((match) => {
    const [, indent = '', language = '', note = '', code = ''] = match;
    return {
      page,
      line: text.slice(0, match.index).split('\n').length + 1,
      language,
      note,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    };
  });
}

/**
 * @param {string} page
 * @returns {string} the page without its code, in which nothing is a link or a heading
 */
export function proseOf(page) {
  return textOf(page)
    .replaceAll(/^( *)```[\s\S]*?^\1```$/gm, '')
    .replaceAll(/(`+)[^`\n]+?\1/g, (code) => (code.includes('](') ? '' : code));
}
