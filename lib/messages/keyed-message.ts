import type { ExecutionContext } from '@nestjs/common';
import type { IdempotentEntry } from '../calls/idempotent-entry.js';
import { customFingerprint } from '../request/fingerprint.js';
import { givenKey, givenKeyMissing } from '../request/given-key.js';
import type { KeyedRequest } from '../request/request-reader.js';
import { readScope } from '../request/scope.js';
import { Observation } from '../telemetry/observation.js';

/** A message as the keys know it. */
export async function keyedMessage(
  context: ExecutionContext,
  { kind, name, patterns, policy }: IdempotentEntry,
): Promise<KeyedRequest> {
  const rpc = context.switchToRpc();
  const payload: unknown = rpc.getData();
  const transport: unknown = rpc.getContext();
  const key = givenKey(policy.key?.(payload, transport));
  if (key === undefined) throw givenKeyMissing();
  const method = kind.toUpperCase();
  return {
    scope: await readScope(policy.scope ?? 'global', payload, context),
    endpoint: `${method} ${name}`,
    key,
    fingerprint: customFingerprint({ method, route: name, params: {} }, payload),
    observed: new Observation(name),
    summarise: () => ({ method, route: name, path: patterns.join(', ') }),
  };
}
