import { namedSchema, SWAGGER, type Part } from '../openapi/swagger-metadata.js';
import { KEY_STATUSES } from '../schema/key-status.js';

const time = { type: 'string', format: 'date-time' };

const PROGRESS_SCHEMA = namedSchema('IdempotencyProgress', {
  description: 'How far the operation of a key has come.',
  properties: {
    id: { type: 'string' },
    status: { type: 'string', enum: [...KEY_STATUSES] },
    done: {
      type: 'boolean',
      description: 'The work is finished. A retry of the request gets the answer.',
    },
    recoveryPoint: { type: 'string', description: 'The last phase that was finished.' },
    attempts: { type: 'integer' },
    outcome: {
      type: 'object',
      nullable: true,
      description: 'Of a resumable operation, once it has ended.',
      properties: {
        kind: { type: 'string', enum: ['finished', 'rejected'] },
        result: {},
        status: { type: 'integer' },
        response: {},
      },
      required: ['kind'],
    },
    createdAt: time,
    lastRunAt: time,
    completedAt: { ...time, nullable: true },
    expiresAt: { ...time, nullable: true },
  },
  required: ['id', 'status', 'done', 'recoveryPoint', 'attempts', 'outcome', 'createdAt'],
});

/** Describes the status route in the documents of @nestjs/swagger. */
export function describeStatusRoute(handler: object): void {
  const progress: Part = {
    description: 'The progress, as JSON; as Server-Sent Events if the request accepts them.',
    headers: {
      'Retry-After': {
        description: 'Seconds until it is worth asking again. Absent if nothing will change.',
        schema: { type: 'integer' },
      },
      ETag: { schema: { type: 'string' } },
    },
    content: {
      'application/json': { schema: { $ref: PROGRESS_SCHEMA.ref } },
      'text/event-stream': { schema: { type: 'string' } },
    },
  };
  const responses = {
    200: progress,
    304: { description: 'Nothing has changed.' },
    404: { description: 'There is no such operation of this caller.' },
  };
  const description = 'The progress of an operation. Its answer comes with a retry of its request.';
  Reflect.defineMetadata(SWAGGER.operation, { description }, handler);
  Reflect.defineMetadata(SWAGGER.responses, responses, handler);
  Reflect.defineMetadata(SWAGGER.extraModels, [PROGRESS_SCHEMA.model], handler);
}
