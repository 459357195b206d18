import { BadRequestException, Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { IdempotencyConfigurationError } from '../policy/configuration-error.js';
import type { Attempt } from '../keys/attempt.js';
import { KEY } from '../encryption/columns.js';
import { decoratedMethods } from '../policy/decorated-methods.js';
import { DEEPEST_JSON } from '../schema/json-depth.js';
import { fromJson, toJson, TooDeepError } from '../schema/json.js';
import { PhaseUsageError } from '../policy/phase-errors.js';
import { rejectionFrom } from './rejection.js';
import { requestContext } from './request-context.js';

const OPERATION = Symbol('nestjs-atomic-idempotency:operation');

/**
 * Ends the handler of a request whose operation is left to a worker. It is not
 * thrown any further.
 */
export class LeftToWorkerError extends Error {
  constructor(operation: string) {
    super(
      `The operation "${operation}" goes on in the background. Let this error end the handler.`,
    );
    this.name = 'LeftToWorkerError';
  }
}

/**
 * Makes a provider's method an operation that can be completed without its
 * client: called in an idempotent handler, its name and its one argument, which
 * has to be JSON, are stored with the first phase. If the client does not come
 * back, a worker calls the method again, and it resumes at its recovery point.
 */
export function Resumable(operation: string): MethodDecorator {
  return (_target, _property, descriptor: PropertyDescriptor) => {
    const method = descriptor.value as (input: unknown) => unknown;
    async function resumable(this: unknown, ...args: unknown[]): Promise<unknown> {
      const attempt = requestContext.current?.attempt;
      // Inside another operation it is part of that one.
      if (!attempt || attempt.operation)
        return (method as (...args: unknown[]) => unknown).apply(this, args);
      if (args.length > 1) {
        throw new PhaseUsageError(
          `The operation "${operation}" was called with ${args.length} arguments; a resumable operation has one, which is stored. Put them into one object.`,
        );
      }
      const input = inputOf(operation, args[0]);
      const stored = attempt.cipher.json(input, KEY.input, attempt);
      attempt.operation = { name: operation, input: stored };
      if (attempt.operationEnd) return endOf(attempt);
      if (attempt.policy.run === 'background' && !attempt.inBackground) {
        attempt.leftToWorker = true;
        throw new LeftToWorkerError(operation);
      }
      return method.call(this, fromJson(input));
    }
    Object.defineProperty(resumable, 'name', { value: method.name });
    for (const key of Reflect.getMetadataKeys(method) as unknown[]) {
      Reflect.defineMetadata(key, Reflect.getMetadata(key, method), resumable);
    }
    Reflect.defineMetadata(OPERATION, operation, resumable);
    descriptor.value = resumable;
  };
}

/**
 * The input is usually the client's body, so nesting that is too deep is the
 * client's mistake and not a 500.
 */
function inputOf(operation: string, value: unknown): string | undefined {
  try {
    return toJson(value, `The input of operation "${operation}"`);
  } catch (error) {
    if (!(error instanceof TooDeepError)) throw error;
    throw new BadRequestException(
      {
        code: 'body_invalid',
        statusCode: 400,
        message: `The request is nested too deeply: at most ${DEEPEST_JSON} levels of lists and objects can be kept.`,
      },
      { cause: error },
    );
  }
}

/** A worker has completed the operation meanwhile: its result is the method's. */
function endOf({ operationEnd }: Attempt): unknown {
  if (operationEnd!.state === 'rejected') throw rejectionFrom(operationEnd!.result);
  return fromJson(operationEnd!.result);
}

/** The operations of this application, found at boot. */
@Injectable()
export class Operations {
  private readonly operations = new Map<string, (input: unknown) => unknown>();

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  get names(): string[] {
    return [...this.operations.keys()];
  }

  explore(): void {
    for (const { mark, call, where } of decoratedMethods(this.discovery, this.scanner, OPERATION)) {
      if (this.operations.has(mark)) {
        throw new IdempotencyConfigurationError(
          `@Resumable('${mark}') of ${where}: another method has this name already, and a worker could not tell which to call. Rename one of them.`,
        );
      }
      this.operations.set(mark, call);
    }
  }

  async run(name: string, input: unknown): Promise<unknown> {
    const operation = this.operations.get(name);
    if (!operation) throw new Error(`There is no @Resumable('${name}') in this process.`);
    return operation(input);
  }
}
