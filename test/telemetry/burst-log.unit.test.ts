import { describe, expect, it } from '@jest/globals';
import { BurstLog } from '../../lib/telemetry/burst-log.js';

describe('A burst log', () => {
  it('logs the first occurrence of a kind, and not the others of its burst', () => {
    const lines: string[] = [];
    const log = new BurstLog((line) => lines.push(line));
    for (let i = 0; i < 100; i++) log.note('outage', () => `outage ${i}`);
    expect(lines).toEqual(['outage 0']);
  });

  it('keeps kinds separate', () => {
    const lines: string[] = [];
    const log = new BurstLog((line) => lines.push(line));
    for (const kind of ['outage of orders', 'outage of rides', 'outage of orders']) {
      log.note(kind, () => kind);
    }
    expect(lines).toEqual(['outage of orders', 'outage of rides']);
  });

  it('does not build a line that it does not log', () => {
    const log = new BurstLog(() => undefined);
    let made = 0;
    for (let i = 0; i < 3; i++) log.note('outage', () => `line ${++made}`);
    expect(made).toBe(1);
  });
});
