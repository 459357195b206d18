import { PROBLEMS, type ProblemCode } from '../answers/problems.js';
import { renderProblem, type Voice } from '../answers/render-problem.js';
import type { ResolvedPolicy } from '../policy/resolve-policy.js';
import { exampleProblem } from './example-problems.js';
import { RETRY_AFTER, SHOULD_RETRY } from './response-headers.js';
import { schemaOfSamples } from './sampled-schema.js';
import { PROBLEM_SCHEMA, STRIPE_SCHEMA } from './schemas.js';
import type { Part, Responses } from './swagger-metadata.js';

/** What a client of this route can get from the library. */
export function possibleProblems(
  policy: ResolvedPolicy,
  { required, scoped, limited }: { required: boolean; scoped: boolean; limited: boolean },
): ProblemCode[] {
  const absent: Partial<Record<ProblemCode, boolean>> = {
    key_missing: !required,
    in_progress: policy.onInProgress === 'accept' || policy.run === 'background',
    expired: policy.onExpired === 'forget' && policy.staleKeys === 'accept',
    scope_missing: !scoped,
    rate_limited: !limited,
  };
  return (Object.keys(PROBLEMS) as ProblemCode[]).filter((code) => !absent[code]);
}

interface Rendered {
  code: ProblemCode;
  status: number;
  media: string;
  body: unknown;
}

/** The responses for these problems, by status, rendered by the application's own dialect. */
export function problemResponses(
  codes: readonly ProblemCode[],
  voice: Voice,
  header: string | undefined,
): Responses {
  const byStatus = new Map<number, Rendered[]>();
  for (const code of codes) {
    const rendered = render(code, voice, header);
    byStatus.set(rendered.status, [...(byStatus.get(rendered.status) ?? []), rendered]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, all]) => [status, responseOf(all, voice.dialect)]),
  );
}

function render(code: ProblemCode, voice: Voice, header: string | undefined): Rendered {
  const { status, headers, body } = renderProblem(exampleProblem(code, header), voice);
  const media = String(headers['content-type'] ?? '').split(';', 1)[0]!;
  const text = body.toString();
  return { code, status, media, body: /\bjson$/.test(media) ? JSON.parse(text) : text };
}

function responseOf(all: readonly Rendered[], dialect: Voice['dialect']): Responses[string] {
  const codes = all.map(({ code }) => code);
  const media = [...new Set(all.map((each) => each.media))];
  const headers = {
    ...(codes.some((code) => PROBLEMS[code].retryable) && RETRY_AFTER),
    ...(dialect === 'stripe' && SHOULD_RETRY),
  };
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('\n\n'),
    ...(Object.keys(headers).length > 0 && { headers }),
    content: Object.fromEntries(
      media
        // An answer without a body has no media type.
        .filter((type) => type !== '')
        .map((type) => {
          const ofType = all.filter((each) => each.media === type);
          return [type, { schema: schemaOf(ofType, dialect), examples: examplesOf(ofType) }];
        }),
    ),
  };
}

function schemaOf(all: readonly Rendered[], dialect: Voice['dialect']): Part {
  if (typeof dialect === 'function') return schemaOfSamples(all.map(({ body }) => body));
  if (dialect === 'stripe') return { $ref: STRIPE_SCHEMA.ref };
  // Which codes come with this status, so that clients can tell them apart by it.
  const code = { type: 'string', enum: all.map((each) => each.code) };
  return { allOf: [{ $ref: PROBLEM_SCHEMA.ref }, { type: 'object', properties: { code } }] };
}

function examplesOf(all: readonly Rendered[]): Part {
  return Object.fromEntries(
    all.map(({ code, body }) => [code, { summary: PROBLEMS[code].title, value: body }]),
  );
}
