import { HttpException } from '@nestjs/common';
import type { GivenAnswer } from '../../answers/given-answer.js';
import { isDefinite } from '../../phases/rejection.js';
import type { Resolution } from '../../resolution/resolved-phase.js';
import type { KeyResolution } from '../idempotency-operator.js';
import type { Fields } from './page-request.js';

/** The decision in a form. */
export type Decision =
  | { action: 'resolve'; of: 'phase'; resolution: Resolution }
  | { action: 'resolve'; of: 'key'; resolution: KeyResolution }
  | { action: SimpleAction };

/** A decision that needs nothing but a reason. */
export const SIMPLE_ACTIONS = ['retry', 'expire', 'evict', 'hold', 'release_hold'] as const;

export type SimpleAction = (typeof SIMPLE_ACTIONS)[number];

/** A decision with its reason, for the audit. */
export interface ReasonedDecision {
  decision: Decision;
  reason: string;
  evidence: string | undefined;
}

/** What is wrong with a form, in a sentence for the person who filled it in. */
export class FormFault extends Error {}

/** The fields of a decision, which go from the preview to the action. */
export const DECISION_FIELDS = [
  'action',
  'outcome',
  'result',
  'rejection_status',
  'rejection_body',
  'answer_status',
  'answer_body',
  'reason',
  'evidence',
] as const;

/** Who decides is not in the form: that comes from `access`. */
export function readDecision(form: Fields): ReasonedDecision {
  const decision = decisionIn(form);
  return { decision, reason: reasonIn(form), evidence: form.text('evidence') };
}

export function reasonIn(form: Fields): string {
  const reason = form.text('reason');
  if (reason !== undefined) return reason;
  throw new FormFault('Say why: the audit needs a reason, for whoever asks about this later.');
}

/** Reason and evidence, as the audit shows them. */
export function whyOf({ reason, evidence }: ReasonedDecision): string {
  return evidence === undefined ? reason : `${reason}\nEvidence: ${evidence}`;
}

function decisionIn(form: Fields): Decision {
  const action = form.text('action');
  switch (action) {
    case 'retry':
    case 'expire':
    case 'evict':
    case 'hold':
    case 'release_hold':
      return { action };
    case 'resolve':
      return resolutionIn(form);
    default:
      throw new FormFault('Choose what to do.');
  }
}

function resolutionIn(form: Fields): Decision {
  const outcome = form.text('outcome');
  switch (outcome) {
    case 'executed':
      return {
        action: 'resolve',
        of: 'phase',
        resolution: { outcome, result: resultIn(form) },
      };
    case 'rejected':
      return { action: 'resolve', of: 'phase', resolution: { outcome, error: rejectionIn(form) } };
    case 'not_executed':
      return { action: 'resolve', of: 'phase', resolution: { outcome } };
    case 'completed':
      return { action: 'resolve', of: 'key', resolution: { outcome, answer: answerIn(form) } };
    case 'retryable':
      return { action: 'resolve', of: 'key', resolution: { outcome } };
    default:
      throw new FormFault('Choose what became of it.');
  }
}

/** An empty field stands for a call that returns nothing. */
function resultIn(form: Fields): unknown {
  const text = form.text('result');
  return text === undefined ? undefined : jsonOf('The result', text);
}

function rejectionIn(form: Fields): HttpException {
  const status = statusIn(form, 'rejection_status', 'the rejection');
  const text = form.text('rejection_body');
  if (text === undefined) throw new FormFault('Give the body of the rejection, as JSON or text.');
  const body = looseJson(text);
  const error = new HttpException(
    typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : text,
    status,
  );
  if (!isDefinite(error)) {
    throw new FormFault(
      `${status} is not a definite answer of another system. Use a status from 400 to 499 other than 408, such as 402.`,
    );
  }
  return error;
}

function answerIn(form: Fields): GivenAnswer {
  const status = statusIn(form, 'answer_status', 'the answer');
  const text = form.text('answer_body');
  return text === undefined ? { status } : { status, body: looseJson(text) };
}

function statusIn(form: Fields, field: string, what: string): number {
  const text = form.text(field) ?? '';
  if (/^\d{3}$/.test(text)) return Number(text);
  throw new FormFault(`Give the HTTP status of ${what}, a number of three digits.`);
}

function jsonOf(what: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new FormFault(`${what} is not JSON: ${(error as Error).message}.`);
  }
}

/** Parsed JSON, or the text itself if it is not JSON. */
function looseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
