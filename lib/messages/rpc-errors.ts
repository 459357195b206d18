import { HttpException } from '@nestjs/common';
import type { ProblemCode } from '../answers/problems.js';
import type { DefiniteErrors } from '../calls/definite-errors.js';
import { IdempotencyRefusedError } from '../calls/refused-call.error.js';
import { isLastWord } from '../policy/resolve-policy.js';
import type { Microservices } from './microservices.js';
import type { ReceivedMessage } from './received-message.js';

/** Nest's RpcException, whichever copy of the package made it. */
interface RpcError extends Error {
  getError(): unknown;
}

/** Codes of gRPC that ask for another try, or say that nobody knows: 2, 4, 8, 10, 13, 14 and 15. */
const OPEN_GRPC_CODES = new Set([2, 4, 8, 10, 13, 14, 15]);

/** An exception that is like a 400, and one that is like a 503. */
const REFUSED = 400;
const TRY_AGAIN = 503;

/**
 * RpcExceptions as definite answers. One with a numeric status or code of its own
 * counts as that says; a KafkaRetriableException asks for another try by its name.
 */
export function rpcErrors({ RpcException }: Microservices): DefiniteErrors {
  return {
    name: 'rpc',
    keep(error) {
      if (!isRpcError(error)) return undefined;
      const { name, message } = error;
      const status = statusOf(error);
      return { status, kept: isLastWord(status) ? { error: error.getError(), name, message } : {} };
    },
    revive(kept) {
      const { error, ...texts } = kept as { error: string | object };
      return Object.assign(new RpcException(error), texts);
    },
  };
}

/** Whether an error says by itself that another try ends the same. */
export function isDefiniteError(error: unknown): boolean {
  if (error instanceof HttpException) return isLastWord(error.getStatus());
  return isRpcError(error) && isLastWord(statusOf(error));
}

/** A refusal of ours, as the sender of a message gets it. */
export function refusalFor(
  { transport }: ReceivedMessage,
  refused: IdempotencyRefusedError,
  { RpcException }: Microservices,
): Error {
  const { code, message, retryable, retryAfter } = refused;
  // The code of gRPC is a number; ours is the first word of the message.
  const error =
    transport === 'grpc'
      ? { code: GRPC_CODES[code] ?? INVALID_ARGUMENT, message: `${code}: ${message}` }
      : { status: 'error', code, message, retryable, retryAfter };
  return Object.assign(new RpcException(error), { cause: refused });
}

const INVALID_ARGUMENT = 3;
const FAILED_PRECONDITION = 9;
const UNAVAILABLE = 14;

/** By gRPC's own rule: UNAVAILABLE if the same call may be retried, FAILED_PRECONDITION if something has to be done first. */
const GRPC_CODES: Partial<Record<ProblemCode, number>> = {
  in_progress: UNAVAILABLE,
  lease_lost: UNAVAILABLE,
  store_unavailable: UNAVAILABLE,
  outcome_unknown: FAILED_PRECONDITION,
  given_up: FAILED_PRECONDITION,
  unfinished: FAILED_PRECONDITION,
  expired: FAILED_PRECONDITION,
  response_unavailable: FAILED_PRECONDITION,
};

function isRpcError(error: unknown): error is RpcError {
  return error instanceof Error && typeof (error as Partial<RpcError>).getError === 'function';
}

function statusOf(error: RpcError): number {
  const content = error.getError();
  // KafkaRetriableException returns itself.
  if (content === error) return TRY_AGAIN;
  if (typeof content !== 'object' || content === null) return REFUSED;
  const { status, statusCode, code } = content as Record<string, unknown>;
  const http = [status, statusCode].find((each) => typeof each === 'number' && each >= 400);
  if (http !== undefined) return http as number;
  return OPEN_GRPC_CODES.has((code ?? status) as number) ? TRY_AGAIN : REFUSED;
}
