import { describe, expect, it } from '@jest/globals';
import * as api from 'nestjs-atomic-idempotency';
import { acceptedAnswer } from '../../lib/answers/accepted.js';
import { IdempotencyProblem, PROBLEMS, type ProblemCode } from '../../lib/answers/problems.js';
import { renderProblem } from '../../lib/answers/render-problem.js';
import { DEFAULT_REPLAY_HEADERS, replayHeaderNames } from '../../lib/answers/replay-headers.js';
import { finalHeaders, replayOf } from '../../lib/answers/replay.js';
import { membersOf, textsOf, textsOfConstant } from './declared.js';
import { firstCells, sorted, tableOf } from './document.js';

const ERRORS = 'reference/errors.md';
const HEADERS = 'reference/headers.md';

describe('the page of errors', () => {
  it('has each problem with its status in both dialects, and whether a retry helps', () => {
    const page = tableOf(ERRORS, 'code').map((row) => row.slice(0, 4));
    const rows = Object.entries(PROBLEMS).map(([code, { status, stripe, retryable }]) => [
      code,
      String(status),
      String(stripe.status),
      retryable ? 'yes' : 'no',
    ]);
    expect(sorted(page)).toEqual(sorted(rows));
  });

  it('has each title', () => {
    const rows = Object.entries(PROBLEMS).map(([code, { title }]) => [code, title]);
    const page = tableOf(ERRORS, 'code of the problem').map((row) => row.slice(0, 2));
    expect(sorted(page)).toEqual(sorted(rows));
  });

  it('has each value of last_error_code', () => {
    const codes = membersOf('lib/schema/error-code.ts', 'ErrorCodes');
    expect(firstCells(ERRORS, 'last_error_code').toSorted()).toEqual(
      [...codes, 'http_<status>'].toSorted(),
    );
  });

  it('has each error class of the package', () => {
    const classes = Object.entries(api)
      .filter(([, value]) => typeof value === 'function' && value.prototype instanceof Error)
      .map(([name]) => name);
    expect(firstCells(ERRORS, 'class').toSorted()).toEqual(classes.toSorted());
  });
});

describe('Errors in the docs', () => {
  it('the page of the operator has each reason for which nothing is changed', () => {
    const reasons = textsOf('lib/resolution/operator-result.ts', 'Refusal');
    expect(firstCells('reference/operator.md', 'reason').toSorted()).toEqual(reasons.toSorted());
  });

  describe('the page of headers', () => {
    it('has each header that the library sends', () => {
      const answer = { status: 500, headers: {}, body: Buffer.of() };
      const expiresAt = new Date();
      const sent = [
        ...(Object.keys(PROBLEMS) as ProblemCode[]).flatMap((code) =>
          (['ietf', 'stripe'] as const).map((dialect) =>
            renderProblem(new IdempotencyProblem(code, '', 1), { dialect }),
          ),
        ),
        acceptedAnswer({ runningFor: 0 }, '/operations/1'),
        replayOf({ answer, expiresAt }, 'stripe'),
        { headers: finalHeaders(201, expiresAt, 'ietf') },
      ];
      const names = new Set(sent.flatMap(({ headers }) => Object.keys(headers)));
      expect(
        firstCells(HEADERS, 'header we send')
          .map((name) => name.toLowerCase())
          .toSorted(),
      ).toEqual([...names].toSorted());
    });

    it('has each header that is kept, and each that is never replayed', () => {
      expect(firstCells(HEADERS, 'header that is kept').toSorted()).toEqual(
        replayHeaderNames().toSorted(),
      );
      expect(DEFAULT_REPLAY_HEADERS.length).toBeGreaterThan(0);
      const never = textsOfConstant('lib/answers/replay-headers.ts', 'NEVER_REPLAYED');
      const listed = tableOf(HEADERS, 'headers that are never replayed').flatMap(([names]) =>
        names!.split(', '),
      );
      expect(listed.toSorted()).toEqual([...never, 'access-control-*'].toSorted());
    });
  });
});
