import { Controller, Header, Post } from '@nestjs/common';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { send } from '../support/http.js';
import { keyRow, startIdempotentApp, type IdempotentApp } from '../support/idempotent-app.js';
import { forEachPlatform } from '../support/platforms.js';

let answer: unknown;

@Controller()
class BytesController {
  @Post('objects')
  @Idempotent()
  object() {
    return answer;
  }

  /** JSON made by the application itself. */
  @Post('texts')
  @Header('Content-Type', 'application/json')
  @Idempotent()
  text() {
    return answer;
  }
}

const OBJECTS: Record<string, unknown> = {
  'members in no order': { zebra: 1, apple: 2, longer: { y: 1, x: 2 }, a: [{ c: 1, b: 2 }] },
  unicode: { grüße: '日本語 🚀 \u0000 \u2028 \u007f', 'e\u0301': 'é', lone: '\ud800' },
  numbers: { tiny: 1e-7, large: 1e21, exact: 9007199254740991, negative: -0.5, third: 1 / 3 },
  'an empty object': {},
  'an empty list': [],
};

const TEXTS: Record<string, string> = {
  'duplicate members': '{"b":1,"a":2,"b":3}',
  'numbers that no parser keeps': '{"n":1.0,"e":1E+2,"big":123456789012345678901234567890}',
  'white space': '{ "a" :\n\t1 }\r\n',
  escapes: '{"a":"\\u0041\\/"}',
};

forEachPlatform('The bytes of an answer', (platform) => {
  let app: IdempotentApp;
  beforeAll(async () => {
    app = await startIdempotentApp(platform, { controllers: [BytesController] });
  });
  afterAll(() => app.close());

  const cases = [
    ...Object.entries(OBJECTS).map(([name, value]) => ['objects', name, value] as const),
    ...Object.entries(TEXTS).map(([name, value]) => ['texts', name, value] as const),
  ];

  it.each(cases)('are replayed unchanged: %s with %s', async (path, name, value) => {
    const key = name.replaceAll(' ', '-');
    const expected = Buffer.from(path === 'texts' ? (value as string) : JSON.stringify(value));
    for (const replayed of [null, 'true']) {
      answer = replayed ? 'something else' : value;
      const got = await send(`${app.url}/${path}`, { key });
      expect(got.headers.get('idempotent-replayed')).toBe(replayed);
      expect(got.headers.get('content-type')).toMatch(/^application\/json/);
      expect(got.body).toEqual(expected);
    }
    expect((await keyRow(app.database, key)).response_body).toEqual(expected);
  });
});
