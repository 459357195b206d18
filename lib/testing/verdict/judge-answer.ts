import type { CrashSafetyOptions } from '../crash-safety.options.js';
import type { RunResult } from '../runs/run-result.js';
import { sameLeaves } from '../world/leaves.js';
import { readJson, type AnswerBaseline } from './answer-baseline.js';
import type { Finding } from './finding.js';

/** Whether the client got what it would have got without a crash, each time it asked. */
export function judgeAnswer(
  result: RunResult,
  baseline: AnswerBaseline,
  undisturbed: RunResult,
  { sameAnswer, ignore }: CrashSafetyOptions,
): Finding[] {
  const { outcome, answer, replay, disturbance } = result;
  if (outcome !== 'final' || !answer) return [];
  const findings: Finding[] = [];
  if (replay && (replay.status !== answer.status || !replay.body.equals(answer.body))) {
    // In a zombie's run the last answer may be the zombie's own.
    if (disturbance.kind !== 'zombie') {
      findings.push({
        code: 'replay_differs',
        subject: '',
        message: `A retry got another answer (${replay.status}) than the one before it (${answer.status}).`,
      });
    }
  }
  const last = replay ?? answer;
  const difference = sameAnswer
    ? sameAnswer(undisturbed.answer!, last)
      ? undefined
      : `it is not the same for sameAnswer (status ${last.status})`
    : baseline.difference(last);
  if (difference !== undefined) {
    findings.push({
      code: 'answer_differs',
      subject: '',
      message: 'The answer after a disturbance is not the one without.',
      evidence: `It has ${difference}.`,
    });
    return findings;
  }
  return [...findings, ...judgeBytes(result, ignore?.json ?? [], sameAnswer !== undefined)];
}

/** The dead attempt was about to send an answer: its successor has to send the same bytes. */
function judgeBytes(
  { disturbance, record, replay }: RunResult,
  ignored: readonly string[],
  judgedByUser: boolean,
): Finding[] {
  if (disturbance.kind !== 'crash' || disturbance.at.name !== 'recording:before') return [];
  const dead = record.held.get(1)?.answer;
  if (!dead?.body || !replay || judgedByUser || dead.body.equals(replay.body)) return [];
  // An answer that is not final may well be followed by another one.
  if (dead.status !== replay.status) return [];
  const { contentType } = replay;
  const before = readJson({ body: dead.body, contentType }, ignored);
  const after = readJson({ body: replay.body, contentType }, ignored);
  const differing =
    before && after
      ? [...new Set([...before.keys(), ...after.keys()])].filter(
          (path) => !sameLeaves(before.get(path), after.get(path)),
        )
      : ['the body'];
  if (differing.length === 0) return [];
  const [first] = differing;
  const values = (leaves: typeof before) => [...(leaves?.get(first!) ?? ['nothing'])].join(', ');
  return [
    {
      code: 'answer_not_repeatable',
      subject: '',
      message: `Two attempts of one key make different answers, in ${differing.slice(0, 5).join(', ')}.`,
      ...(before && { evidence: `First ${first} was ${values(before)}, then ${values(after)}.` }),
    },
  ];
}
