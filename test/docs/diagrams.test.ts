import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { requestDiagram } from '../../docs/.vitepress/diagrams/request.mjs';
import { statesDiagram } from '../../docs/.vitepress/diagrams/states.mjs';

describe('Pictures of the docs', () => {
  it.each([
    ['states.svg', statesDiagram],
    ['request.svg', requestDiagram],
  ])('%s is drawn anew (node docs/.vitepress/diagrams/draw.mjs)', (file, draw) => {
    const drawn = readFileSync(new URL(`../../docs/images/${file}`, import.meta.url), 'utf8');
    expect(drawn).toBe(draw());
  });
});
