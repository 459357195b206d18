import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ClientRequest } from 'node:http';
import { Socket } from 'node:net';
import { requestContext } from '../../phases/request-context.js';
import { here } from '../verdict/user-line.js';
import { OutgoingCall } from './outgoing-call.js';
import { whereIs } from './place.js';
import { tapSocket, type Interference } from './socket-tap.js';

/** What may happen to calls. */
export interface CallObserver {
  /** @returns an error that the call is to end with before anything is sent */
  beforeCall(call: OutgoingCall): Error | undefined;
  answered(call: OutgoingCall): Interference | undefined;
  /** Messages are being delivered: calls that belong to no request are theirs. */
  readonly delivering: unknown;
}

/** A request as Node's channels show it: of `node:http`, or of undici and fetch(). */
interface OutgoingRequest {
  method?: string;
  /** undici */
  origin?: string | URL;
  onError?(error: Error): void;
  /** node:http */
  host?: string;
  protocol?: string;
  getHeader?(name: string): unknown;
  socket?: Socket | null;
  once?(event: 'socket', listener: (socket: Socket) => void): void;
  destroy?(error: Error): void;
}

/** The first one is missing before Node 22.12; there, a request is seen when it gets its connection. */
const CREATED = ['http.client.request.created', 'undici:request:create'] as const;

/** Where undici tells which connection a request goes over. */
const SENDING = 'undici:client:sendHeaders';

const HTTP = /^[A-Z]+ \S+ HTTP\/1/;

/**
 * Sees the requests and connections that idempotent handlers make, by whichever
 * client: http, https, undici, fetch(), and plain sockets such as SMTP.
 *
 * @returns what ends it
 */
export function watchCalls(observer: CallObserver): () => void {
  const calls = new WeakMap<object, OutgoingCall>();

  const created = (message: unknown): void => {
    const { request } = message as { request: OutgoingRequest };
    if (request.method === 'CONNECT' || calls.has(request)) return;
    const call = callOf(observer, 'http', request.method ?? 'GET', originOf(request));
    if (!call) return;
    calls.set(request, call);
    const error = observer.beforeCall(call);
    if (error) {
      (request.onError ?? request.destroy)?.call(request, error);
      return;
    }
    const tap = (socket: Socket) => tapCall(socket, call, observer);
    if (request.socket) tap(request.socket);
    else request.once?.('socket', tap);
  };

  const sending = (message: unknown): void => {
    const { request, socket } = message as { request: OutgoingRequest; socket: Socket };
    const call = calls.get(request);
    if (call) tapCall(socket, call, observer);
  };

  const { connect } = Socket.prototype;
  const connected = function (this: Socket, ...args: Parameters<Socket['connect']>) {
    const call = callOf(observer, 'socket', undefined, addressOf(args));
    const connecting = connect.apply(this, args);
    // After connect(), which puts Node's own write() back. Whatever turns out to be
    // HTTP or PostgreSQL is told of elsewhere, or is nobody's business.
    if (call) tapSocket(this, rawTap(call, observer));
    return connecting;
  } as Socket['connect'];

  const { onSocket } = ClientRequest.prototype;
  const assigned: typeof onSocket = function (this: ClientRequest, ...args) {
    created({ request: this });
    return onSocket.apply(this, args);
  };

  for (const channel of CREATED) subscribe(channel, created);
  subscribe(SENDING, sending);
  ClientRequest.prototype.onSocket = assigned;
  Socket.prototype.connect = connected;
  return () => {
    for (const channel of CREATED) unsubscribe(channel, created);
    unsubscribe(SENDING, sending);
    if (ClientRequest.prototype.onSocket === assigned) ClientRequest.prototype.onSocket = onSocket;
    if (Socket.prototype.connect === connected) Socket.prototype.connect = connect;
  };
}

function tapCall(socket: Socket, call: OutgoingCall, observer: CallObserver): void {
  tapSocket(socket, {
    // A connection that is kept alive may carry somebody else's request next.
    wrote: (bytes) => void (call.answered || call.add(bytes)),
    answered: () => {
      if (call.answered) return undefined;
      call.answered = true;
      return observer.answered(call);
    },
  });
}

/** It counts as a call with its first bytes, which show what it is. */
function rawTap(call: OutgoingCall, observer: CallObserver) {
  let counted: boolean | undefined;
  return {
    wrote(bytes: Buffer): void {
      if (counted === undefined) {
        counted = !isPostgres(bytes) && !HTTP.test(bytes.toString('latin1'));
        if (counted) observer.beforeCall(call);
      }
      if (counted) call.add(bytes);
    },
    answered: () => undefined,
  };
}

/** A connection to PostgreSQL begins with version 3 of its protocol, or asks for TLS, GSS or a cancellation. */
function isPostgres(bytes: Buffer): boolean {
  if (bytes.length < 8) return false;
  const version = bytes.readUInt16BE(4);
  return version === 3 || version === 1234;
}

function callOf(
  { delivering }: CallObserver,
  kind: OutgoingCall['kind'],
  method: string | undefined,
  origin: string,
): OutgoingCall | undefined {
  const context = requestContext.current;
  if (!context && !delivering) return undefined;
  const { phase, attempt } = context ?? {};
  return new OutgoingCall(kind, method, origin, {
    where: context ? whereIs(context) : 'delivery',
    phase: phase?.name,
    attempt,
    place: here(),
  });
}

function originOf(request: OutgoingRequest): string {
  if (request.origin !== undefined) return String(request.origin);
  const named = request.getHeader?.('host');
  const host = typeof named === 'string' ? named : (request.host ?? 'another system');
  return `${request.protocol ?? 'http:'}//${host}`;
}

function addressOf(args: unknown[]): string {
  const [first, second] = (Array.isArray(args[0]) ? args[0] : args) as unknown[];
  if (typeof first === 'object' && first !== null) {
    const { path, host = 'localhost', port } = first as Record<string, string | number | undefined>;
    return path === undefined || path === null ? `${host}:${port}` : String(path);
  }
  return typeof first === 'number' || /^\d+$/.test(String(first))
    ? `${typeof second === 'string' ? second : 'localhost'}:${String(first)}`
    : String(first);
}
