import { describe, expect, it } from '@jest/globals';
import {
  DEFAULT_REPLAY_HEADERS,
  forbiddenReplayHeaders,
  pickReplayHeaders,
  replayHeaderNames,
} from '../../lib/answers/replay-headers.js';

describe('The headers of a replay', () => {
  it('are those that describe the answer', () => {
    const observed = {
      'content-type': 'text/csv',
      'content-language': 'de',
      'content-location': '/orders/1',
      location: '/orders/1',
      etag: '"1"',
      'last-modified': 'Thu, 01 Jan 1970 00:00:00 GMT',
      'content-length': '3',
      date: 'Thu, 01 Jan 1970 00:00:00 GMT',
      'set-cookie': ['a=1', 'b=2'],
      'x-request-id': 'r1',
      'ratelimit-remaining': '9',
      'access-control-allow-origin': 'https://example.com',
    };
    expect(Object.keys(pickReplayHeaders(observed, replayHeaderNames()))).toEqual(
      DEFAULT_REPLAY_HEADERS,
    );
  });

  it('are added by name, in any spelling', () => {
    const names = replayHeaderNames(['X-Total', ' link ', 'ETag']);
    const observed = { 'x-total': '3', link: ['</1>; rel=next', '</2>; rel=last'], etag: '"1"' };
    expect(pickReplayHeaders(observed, names)).toEqual(observed);
    expect(names.filter((name) => name === 'etag')).toHaveLength(1);
  });

  it('always say how the bytes are encoded', () => {
    const observed = { 'content-encoding': 'gzip' };
    expect(pickReplayHeaders(observed, replayHeaderNames())).toEqual(observed);
  });
});

describe('Headers that must never be replayed', () => {
  it.each([
    'Set-Cookie',
    'Connection',
    'Keep-Alive',
    'Proxy-Connection',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'Content-Length',
    'Date',
    'Access-Control-Allow-Origin',
    'WWW-Authenticate',
    'Idempotent-Replayed',
  ])('include %s', (name) => {
    expect(forbiddenReplayHeaders(['x-total', name])).toEqual([name]);
    expect(forbiddenReplayHeaders([name.toLowerCase()])).toEqual([name.toLowerCase()]);
  });

  it('do not include what is replayed by default', () => {
    expect(forbiddenReplayHeaders([...replayHeaderNames(), 'X-Total', 'Link'])).toEqual([]);
  });
});
