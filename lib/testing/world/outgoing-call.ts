import { createHash } from 'node:crypto';
import type { Attempt } from '../../keys/attempt.js';
import type { Place } from '../verdict/user-line.js';
import type { Where } from './place.js';

/** Longer ones are compared by their beginning. */
const MOST_BYTES = 1_000_000;

/** Differ between two sendings of the same request, and mean nothing. */
const VOLATILE =
  /^(?:date|traceparent|tracestate|b3|x-b3-\w+|x-request-id|x-correlation-id|user-agent|connection|x-stripe-client-telemetry|x-amz-date|amz-sdk-invocation-id|amz-sdk-request|authorization):.*$/gim;

/** As Stripe, PayPal, Square and the IETF draft call it. */
const KEY_HEADER = /^(?:x-)?(?:idempotency-key|paypal-request-id|idempotence-key):\s*(\S+)/im;

/** A request or a connection to another system, made by code of an idempotent request. */
export class OutgoingCall {
  private readonly chunks: Buffer[] = [];
  private size = 0;
  /** Something of it has left. */
  sent = false;
  /** Something has come back. */
  answered = false;

  constructor(
    readonly kind: 'http' | 'socket',
    /** Undefined for a socket. */
    readonly method: string | undefined,
    /** `https://api.example.com`, or `mail.example.com:25`. */
    readonly origin: string,
    readonly by: {
      where: Where;
      phase: string | undefined;
      attempt: Attempt | undefined;
      place: Place;
    },
  ) {}

  /** Method and origin: what differs from run to run, such as an id in the path, is no part of it. */
  get to(): string {
    return this.method === undefined ? this.origin : `${this.method} ${this.origin}`;
  }

  /** Reading changes nothing over there. */
  get safe(): boolean {
    return this.method === 'GET' || this.method === 'HEAD' || this.method === 'OPTIONS';
  }

  add(bytes: Buffer): void {
    this.sent = true;
    if (this.size >= MOST_BYTES) return;
    this.chunks.push(bytes);
    this.size += bytes.length;
  }

  /** All that was written, as it went over the wire. */
  get text(): string {
    return Buffer.concat(this.chunks).toString('latin1');
  }

  /** The value of a header that says under which key the other system knows the request. */
  get keyHeader(): string | undefined {
    return KEY_HEADER.exec(this.text)?.[1];
  }

  carries(effectKey: string): boolean {
    return this.text.toLowerCase().includes(effectKey.toLowerCase());
  }

  /** Of what the other system acts on: line, headers and body, without what is made anew each time. */
  get digest(): string {
    return createHash('sha256').update(this.text.replace(VOLATILE, '')).digest('hex');
  }
}
