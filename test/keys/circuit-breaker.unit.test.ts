import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { CircuitBreaker } from '../../lib/postgres/store-breaker.js';
import { StoreUnavailableError } from '../../lib/postgres/store-unavailable.error.js';

const LOST = new Error('Connection terminated');

describe('The circuit breaker', () => {
  let now = 1_000_000;
  let breaker: CircuitBreaker;
  beforeEach(() => {
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    jest.spyOn(Logger.prototype, 'log').mockImplementation(() => undefined);
    breaker = new CircuitBreaker({ failures: 3, after: 5_000, probePatience: 1_000 });
    breaker.answered();
  });
  afterEach(() => void jest.restoreAllMocks());

  /** Failures of statements that were begun this long ago. */
  function fail(count: number, ago = 0): void {
    for (let each = 0; each < count; each++) breaker.failed(now - ago, LOST);
  }

  it('bears an outage that is shorter than a request may wait', () => {
    fail(50);
    now += 4_999;
    fail(50);
    expect(breaker.isOpen).toBe(false);
    now += 1;
    fail(1);
    expect(breaker.isOpen).toBe(true);
  });

  it('counts the time of statements that got no reply', () => {
    now += 5_000;
    fail(2, 5_000);
    expect(breaker.isOpen).toBe(false);
    fail(1, 4_000);
    expect(breaker.isOpen).toBe(true);
  });

  it('takes no statement from before the last answer for a long outage', () => {
    now += 60_000;
    breaker.answered();
    fail(3, 60_000);
    expect(breaker.isOpen).toBe(false);
  });

  it('forgets failures with every answer', () => {
    fail(2);
    now += 6_000;
    breaker.answered();
    fail(2);
    now += 6_000;
    expect(breaker.isOpen).toBe(false);
  });

  it('lets another probe through if one has no reply after a second', async () => {
    fail(3);
    now += 5_000;
    fail(1);
    let asked = 0;
    const unanswered = () => new Promise<void>(() => void (asked += 1));
    void breaker.guard(unanswered);
    await expect(breaker.guard(unanswered)).rejects.toBeInstanceOf(StoreUnavailableError);
    now += 1_000;
    void breaker.guard(unanswered);
    await expect(breaker.guard(unanswered)).rejects.toThrow(/has not answered for 6 s/);
    expect(asked).toBe(2);
    breaker.answered();
    void breaker.guard(unanswered);
    void breaker.guard(unanswered);
    expect(asked).toBe(4);
  });

  it('lets the next request through as soon as a probe has failed', async () => {
    fail(3);
    now += 5_000;
    fail(1);
    for (let each = 0; each < 3; each++) {
      await expect(breaker.guard(() => Promise.reject(LOST))).rejects.toBe(LOST);
    }
  });
});
