/**
 * What left, or will leave, the application for one request: the status line,
 * the headers worth keeping and the exact bytes of the entity.
 */
export interface Answer {
  status: number;
  /** Lower-case names. */
  headers: Record<string, string | string[]>;
  body: Buffer;
}

/**
 * The application's own answer as it was seen before it was sent. `body` is
 * undefined where it cannot be replayed: it exceeded `maxResponseBytes`, or its
 * stream ended early (the client left, or the source failed).
 */
export interface ObservedAnswer extends Omit<Answer, 'body'> {
  body: Buffer | undefined;
}

/**
 * What to do with an observed answer after recording: release it, with a few
 * headers of the library, or replace it because it could not be recorded.
 */
export type AnswerToSend =
  { kind: 'release'; headers: Record<string, string> } | { kind: 'replace'; answer: Answer };
