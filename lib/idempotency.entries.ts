import { Injectable, type ExecutionContext } from '@nestjs/common';
import type { IdempotentEntry } from './calls/idempotent-entry.js';
import { EventHandlers } from './event-handlers.js';
import { IdempotencySettings } from './idempotency.settings.js';
import { ENTRY_POLICY_NAMES, INHERITED_NAMES, OPTION_NAMES } from './option-names.js';
import { IdempotencyConfigurationError } from './policy/configuration-error.js';
import { refuseContradiction } from './misplaced-decorators.js';
import { entryKindOf, entryNamesOf, isForClass, isRoute } from './policy/handler-kinds.js';
import { isCovered, policyOf } from './policy/idempotent-metadata.js';
import { POLICY_NAMES, type IdempotencyPolicy } from './policy/policy.js';
import { refuseUnknownNames } from './policy/unknown-names.js';

/** Members of a policy that are given what called the handler. */
const OF_THE_CALLER = ['key', 'scope', 'skip', 'fingerprint', 'keepRequest'] as const;

/** The idempotent message handlers and mutations, with their policies resolved at boot. */
@Injectable()
export class IdempotentEntries {
  private readonly entries = new WeakMap<object, WeakMap<object, IdempotentEntry>>();
  private readonly names = new Map<string, object>();
  private readonly events = new EventHandlers();

  constructor(private readonly settings: IdempotencySettings) {}

  /** The entry that was called, or undefined if it is not idempotent. */
  find(context: ExecutionContext): IdempotentEntry | undefined {
    const handler = context.getHandler();
    const owner = context.getClass();
    const known = this.entries.get(owner)?.get(handler);
    if (known) return known;
    // A class that came after boot (a lazy module, a test's override).
    return isCovered(handler) ? this.add(owner, handler) : undefined;
  }

  /** Call it with every handler of a controller, idempotent or not. */
  meet(owner: Function, handler: Function): void {
    this.events.meet(owner, handler);
  }

  /** One of them, as far as they are known by now. */
  get anyName(): string | undefined {
    return [...this.names.keys()][0];
  }

  /** When all of them have been met. */
  check(): void {
    this.events.refuseHalfSettled();
  }

  /** Does nothing for a handler that only HTTP requests call. */
  add(owner: Function, handler: Function): IdempotentEntry | undefined {
    const kind = entryKindOf(handler);
    if (kind === undefined) return undefined;
    const name = `${owner.name}.${handler.name}`;
    const where = `@Idempotent() of ${name}`;
    this.refuseNamesake(name, owner);
    refuseContradiction(name, handler);
    const layers = [policyOf(owner), policyOf(handler)];
    for (const layer of layers) {
      refuseUnknownNames(
        where,
        layer,
        ENTRY_POLICY_NAMES[kind],
        '',
        isIn(POLICY_NAMES, layer, ENTRY_POLICY_NAMES[kind])
          ? {
              names: POLICY_NAMES,
              place: `to HTTP routes${kind === 'mutation' ? ' and message handlers' : ''}: put it on those, and not on ${describe(kind)} or its class`,
            }
          : { names: OPTION_NAMES, place: 'to the module: give it to IdempotencyModule.forRoot()' },
      );
      if (layer?.onInProgress === 'accept') {
        throw new IdempotencyConfigurationError(
          `${where}: onInProgress: 'accept' answers HTTP requests with 202, and ${describe(kind)} has no such answer. Use 'reject' or 'wait'.`,
        );
      }
    }
    refuseSharedFunctions(where, owner, handler);
    const { events } = this;
    // Not before all of them have been met.
    let counts: Map<string, number> | undefined;
    const entry: IdempotentEntry = {
      kind,
      name,
      patterns: entryNamesOf(handler),
      policy: this.settings.entryPolicy(layers, where, INHERITED_NAMES[kind]),
      get handlers() {
        return (counts ??= events.counts(this.patterns));
      },
    };
    const ofOwner = this.entries.get(owner) ?? new WeakMap<object, IdempotentEntry>();
    this.entries.set(owner, ofOwner.set(handler, entry));
    return entry;
  }

  /**
   * The name tells the records of two handlers of one event apart; with one name the
   * second handler would find the result of the first.
   */
  private refuseNamesake(name: string, owner: object): void {
    const other = this.names.get(name);
    if (other === undefined || other === owner) {
      this.names.set(name, owner);
      return;
    }
    throw new IdempotencyConfigurationError(
      `@Idempotent() of ${name}: two classes of that name have such a method, and its name tells the records of handlers apart. Rename one of the classes or one of the methods.`,
    );
  }
}

/** A function of the policy cannot tell what it is given: a request or a message. */
function refuseSharedFunctions(where: string, owner: Function, handler: Function): void {
  const places: [IdempotencyPolicy | undefined, boolean, string][] = [
    [policyOf(handler), isRoute(handler), 'the method is an HTTP route as well'],
    [
      policyOf(owner),
      methodsOf(owner).some((method) => isRoute(method) && isForClass(method)),
      `${owner.name} has HTTP routes as well`,
    ],
  ];
  for (const [policy, isShared, why] of places) {
    const shared = OF_THE_CALLER.find((name) => typeof policy?.[name] === 'function');
    if (!isShared || shared === undefined) continue;
    throw new IdempotencyConfigurationError(
      `${where}: ${shared} is a function, and ${why}, so it would get requests of HTTP and others. Give each handler a method and a ${shared} of its own.`,
    );
  }
}

function methodsOf({ prototype }: Function): Function[] {
  const descriptors = Object.values(Object.getOwnPropertyDescriptors(prototype as object));
  return descriptors
    .map(({ value }): unknown => value)
    .filter((value): value is Function => typeof value === 'function');
}

function describe(kind: IdempotentEntry['kind']): string {
  return kind === 'mutation' ? 'a mutation' : `a handler of ${kind}s`;
}

/** Whether a name that is unknown here is one of `names`. */
function isIn(names: object, given: object | undefined, known: object): boolean {
  return Object.keys(given ?? {}).some(
    (name) => !Object.hasOwn(known, name) && Object.hasOwn(names, name),
  );
}
