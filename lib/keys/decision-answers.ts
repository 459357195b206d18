import { Logger } from '@nestjs/common';
import { acceptedAnswer } from '../answers/accepted.js';
import type { Answer, AnswerToSend } from '../answers/answer.js';
import type { IdempotencyProblem } from '../answers/problems.js';
import { renderProblem, type Voice } from '../answers/render-problem.js';
import { finalHeaders, replayOf } from '../answers/replay.js';
import { errorFrames, errorLine } from '../telemetry/error-line.js';
import type { Observation } from '../telemetry/observation.js';
import type { Attempt } from './attempt.js';
import type { Decision } from './decision.js';
import type { Recorded } from './recorder.js';
import { RefusalLog } from './refusal-log.js';
import { problemOf, refusalOf, storeUnavailable } from './refusal.js';

/** What a client gets for each decision and each outcome, in the dialect of the application. */
export class DecisionAnswers {
  private readonly log = new RefusalLog();

  constructor(
    private readonly voice: Voice,
    /** The address of a key's status, if there is one. */
    private readonly locationOf: (id: string) => string | undefined,
  ) {}

  to(decision: Exclude<Decision, { kind: 'run' }>, observed: Observation): Answer {
    switch (decision.kind) {
      case 'replay':
        return replayOf(decision, this.voice.dialect);
      case 'accepted':
        return acceptedAnswer(decision, this.locationOf(decision.id));
      default:
        return this.refuse(refusalOf(decision), undefined, observed);
    }
  }

  /** Undefined for an error of the application. */
  toError(error: unknown, observed: Observation): Answer | undefined {
    const problem = problemOf(error);
    return problem && this.refuse(problem, error, observed);
  }

  /** The attempt's outcome was recorded. */
  afterRecording({ id }: Attempt, status: number, recorded: Recorded): AnswerToSend {
    const { leftToWorker, final, expiresAt } = recorded;
    if (leftToWorker) {
      return { kind: 'replace', answer: acceptedAnswer({ runningFor: 0 }, this.locationOf(id)) };
    }
    const headers = final ? finalHeaders(status, expiresAt, this.voice.dialect) : {};
    return { kind: 'release', headers };
  }

  /** The attempt's outcome could not be recorded, so its answer must not be sent. */
  insteadOfUnrecorded(error: unknown, observed: Observation): AnswerToSend {
    const problem = problemOf(error) ?? unrecorded(error);
    return { kind: 'replace', answer: this.refuse(problem, error, observed) };
  }

  private refuse(problem: IdempotencyProblem, cause: unknown, observed: Observation): Answer {
    observed.refused(problem.code);
    this.log.note(problem, cause, observed.route, observed.name?.scope);
    return renderProblem(problem, this.voice);
  }
}

/** A callback of the policy threw. */
function unrecorded(error: unknown): IdempotencyProblem {
  new Logger('IdempotencyModule').error(
    `An idempotent request ended without a record, so its answer was held back: ${errorLine(error)}`,
    errorFrames(error),
  );
  return storeUnavailable('The request was processed, but its outcome could not be recorded.');
}
