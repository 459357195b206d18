import { describe, expect, it } from '@jest/globals';
import { severalHosts } from 'nestjs-atomic-idempotency';
import { parseHosts } from '../../lib/postgres/host-list.js';

describe('A connection string with several hosts', () => {
  it.each([
    ['postgres://u:p@db1:5433,db2/app', ['db1:5433', 'db2:5432'], 'postgres://u:p@db1:5433/app'],
    [
      'postgresql://u:p%40@10.0.0.1,[::1]:6000/app?target_session_attrs=read-write&sslmode=require',
      ['10.0.0.1:5432', '::1:6000'],
      'postgresql://u:p%40@10.0.0.1/app?sslmode=require',
    ],
    ['postgres://db1,db2?target_session_attrs=primary', ['db1:5432', 'db2:5432'], 'postgres://db1'],
    ['postgres://u@db1/app', ['db1:5432'], 'postgres://u@db1/app'],
  ])('is taken apart: %s', (url, hosts, single) => {
    const parsed = parseHosts(url);
    expect(parsed.hosts.map(({ host, port }) => `${host}:${port}`)).toEqual(hosts);
    expect(parsed.single).toBe(single);
  });

  it.each([
    ['mysql://db1,db2/app', 'does not look like postgres://'],
    ['postgres://db1,/app', '"" is no host'],
    ['postgres://db1:port,db2/app', '"db1:port" is no host'],
    ['postgres://db1:70000/app', '"db1:70000" is no host'],
    [
      'postgres://db1,db2/app?target_session_attrs=standby',
      'keys need a server that accepts writes',
    ],
    ['postgres:///app?host=db1,db2', 'is no host'],
    ['postgres://db1/app?host=db2', 'host and port are parameters'],
  ])('is refused with the reason: %s', (url, reason) => {
    expect(() => severalHosts(url)).toThrow(reason);
  });

  it('is refused if no host could answer in time', () => {
    expect(() => severalHosts('postgres://db1,db2/app', { connectTimeout: '0s' })).toThrow(
      `connectTimeout is "0s". Use a time such as '2s'.`,
    );
  });
});
