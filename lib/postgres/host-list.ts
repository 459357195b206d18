import { IdempotencyConfigurationError } from '../policy/configuration-error.js';

/** Where a server listens. */
export interface Host {
  host: string;
  port: number;
}

const EXAMPLE = 'postgres://user:password@db1:5432,db2:5432/name?target_session_attrs=read-write';

/** Scheme, user, hosts and the rest of a connection string as libpq writes it. */
const URL_PARTS = /^(postgres(?:ql)?:\/\/)((?:[^@/?#]*@)?)([^/?#]*)(.*)$/s;

/** A name, an IPv4 address, or an IPv6 address in brackets, and perhaps a port. */
const HOST = /^(\[[0-9a-f:.]+\]|[^:,[\]]+)(?::(\d+))?$/i;

const PARAMETER = 'target_session_attrs';

/** The key tables need a server that accepts writes. */
const FITTING = ['read-write', 'primary'];

/**
 * Takes a connection string with several hosts apart.
 *
 * @returns the hosts, and the connection string of the first one, which pg can parse
 */
export function parseHosts(url: string): { hosts: Host[]; single: string } {
  const parts = URL_PARTS.exec(url);
  if (!parts) throw refused(`the connection string does not look like ${EXAMPLE}`);
  const [, scheme, user, list, rest = ''] = parts;
  const hosts = list!.split(',').map(parseHost);
  const { path, query } = splitQuery(rest);
  const wanted = query.get(PARAMETER);
  if (wanted !== null && !FITTING.includes(wanted)) {
    throw refused(
      `${PARAMETER} is ${JSON.stringify(wanted)}, but keys need a server that accepts writes. Use read-write, or leave it out`,
    );
  }
  query.delete(PARAMETER);
  if (query.has('host') || query.has('port')) {
    throw refused(`host and port are parameters. Write the hosts as in ${EXAMPLE}`);
  }
  const parameters = query.size > 0 ? `?${query.toString()}` : '';
  const first = list!.split(',')[0]!;
  return { hosts, single: `${scheme}${user}${first}${path}${parameters}` };
}

function parseHost(text: string): Host {
  const [, name, port = '5432'] = HOST.exec(text) ?? [];
  if (name === undefined || Number(port) > 65_535) {
    throw refused(
      `${JSON.stringify(text)} is no host. Write them with commas between, as in ${EXAMPLE}`,
    );
  }
  return { host: decodeURIComponent(name.replace(/^\[(.+)\]$/, '$1')), port: Number(port) };
}

function splitQuery(rest: string): { path: string; query: URLSearchParams } {
  const at = rest.indexOf('?');
  return at < 0
    ? { path: rest, query: new URLSearchParams() }
    : { path: rest.slice(0, at), query: new URLSearchParams(rest.slice(at + 1)) };
}

function refused(reason: string): IdempotencyConfigurationError {
  return new IdempotencyConfigurationError(`severalHosts: ${reason}.`);
}
