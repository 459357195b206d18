import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { CURES, docsOf, type ProblemCode } from '../../lib/testing/verdict/cures.js';

const guide = readFileSync('docs/guides/crash-safety.md', 'utf8');

describe('The guide to crash safety', () => {
  it('has a section for each code, and for nothing else', () => {
    const [, problems = ''] = guide.split('## What it says');
    const sections = [...problems.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading);
    expect(new Set(sections)).toEqual(new Set(Object.keys(CURES)));
    expect(sections).toHaveLength(Object.keys(CURES).length);
  });

  it.each(Object.keys(CURES) as ProblemCode[])('is where %s leads to', (code) => {
    const [file, anchor] = docsOf(code).split('#');
    expect(readFileSync(file!, 'utf8')).toContain(`### ${anchor}\n`);
  });

  it('says first what the kit cannot see', () => {
    const headings = [...guide.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    expect(headings[0]).toBe('What it cannot see');
  });
});
