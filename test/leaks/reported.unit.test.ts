import { describe, expect, it } from '@jest/globals';
import { ReportedOnce } from '../../lib/telemetry/reported-once.js';

describe('The memory of what was logged', () => {
  it('reports a name as new once', () => {
    const reported = new ReportedOnce();
    expect(reported.isNew('topic-1')).toBe(true);
    expect(reported.isNew('topic-1')).toBe(false);
    expect(reported.isNew('topic-2')).toBe(true);
  });

  it('does not grow with names that users choose: it drops the oldest', () => {
    const reported = new ReportedOnce();
    for (let i = 0; i < 5_000; i++) expect(reported.isNew(`host-${i}`)).toBe(true);
    expect(reported.size).toBe(1_000);
    expect(reported.isNew('host-4999')).toBe(false);
    expect(reported.isNew('host-0')).toBe(true);
  });
});
