import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { serializeItem } from 'structured-headers';
import { readKey } from '../../lib/request/key-header.js';
import { IdempotencyProblem } from '../../lib/answers/problems.js';

const HEADER = 'Idempotency-Key';

/** As node's HTTP server shows one or more lines of a header. */
function requestWith(...lines: string[]) {
  return {
    headers: { 'idempotency-key': lines.join(', ') },
    headersDistinct: { 'idempotency-key': lines },
  };
}

const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
const keys = fc.string({ unit: visible, minLength: 1, maxLength: 255 });
/** Half of what matters in a header is punctuation, so it comes often. */
const headerValues = fc.string({
  unit: fc.oneof(
    fc.constantFrom('"', '\\', ',', ';', '=', ' ', '\t', 'k', '%', ':', '?'),
    fc.integer({ min: 0, max: 0xff }).map((code) => String.fromCharCode(code)),
  ),
  maxLength: 300,
});

describe('Reading a key', () => {
  it('gives a usable key, nothing, or a refusal, whatever was sent', () => {
    fc.assert(
      fc.property(fc.array(headerValues, { minLength: 1, maxLength: 3 }), (lines) => {
        let key: string | undefined;
        try {
          key = readKey(requestWith(...lines), HEADER);
        } catch (error) {
          expect(error).toBeInstanceOf(IdempotencyProblem);
          expect(error).toMatchObject({ code: 'key_invalid' });
          return;
        }
        if (key !== undefined) expect(key).toMatch(/^[\x21-\x7e]{1,255}$/);
      }),
      { numRuns: 2_000 },
    );
  });

  it('returns what a client serialised as a string of RFC 9651', () => {
    fc.assert(
      fc.property(keys, (key) => {
        expect(readKey(requestWith(serializeItem(key)), HEADER)).toBe(key);
      }),
    );
  });

  it('returns a bare key as it is', () => {
    fc.assert(
      fc.property(
        keys.filter((key) => !/[",;]/.test(key)),
        (key) => {
          expect(readKey(requestWith(key), HEADER)).toBe(key);
        },
      ),
    );
  });

  it('keeps every character: it removes only quotes, escapes and outer white space', () => {
    const asString = (value: string) => {
      const inner = value.replace(/^[ \t]+|[ \t]+$/g, '');
      return inner.startsWith('"') ? inner : serializeItem(inner);
    };
    const spaced = fc.tuple(fc.constantFrom('', ' ', '\t '), fc.oneof(keys, headerValues));
    const keyOf = (value: string) => {
      try {
        return readKey(requestWith(value), HEADER);
      } catch {
        return undefined;
      }
    };
    fc.assert(
      fc.property(spaced, ([space, value]) => {
        const key = keyOf(space + value + space);
        fc.pre(key !== undefined);
        expect(serializeItem(key)).toBe(asString(value));
      }),
    );
  });

  it('refuses two lines even if the framework hides them behind `raw`, as Fastify does', () => {
    const raw = requestWith('one', 'two');
    expect(() => readKey({ headers: raw.headers, raw }, HEADER)).toThrow('more than once');
  });
});
