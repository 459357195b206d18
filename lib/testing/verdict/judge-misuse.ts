import { errorLine } from '../../telemetry/error-line.js';
import type { RunResult } from '../runs/run-result.js';
import { codeOf as codeOfCall, isRepeated, subjectOf } from './judge-calls.js';
import { codeOf as codeOfStatement } from './judge-tables.js';
import type { Finding } from './finding.js';
import { userLine, type Place } from './user-line.js';

/**
 * What the guards and the phases complain about, and what they cannot see: writes
 * by another pool, and connections that are not HTTP.
 */
export function judgeMisuse({ record }: RunResult): Finding[] {
  const aroundOf = (phase: string | undefined) => record.phasePlaces.get(phase ?? '');
  const misuses = record.misuses.filter(
    ({ code, phase }) => code !== 'second_call_in_phase' || !isRepeated(record, phase),
  );
  const noticed = misuses.map(({ code, message, place, phase }): Finding => {
    const around = aroundOf(phase);
    return { code, subject: subjectIn(message, code, place), message, place, around };
  });
  const writes = record.statements.flatMap((statement): Finding[] => {
    const code = codeOfStatement(statement);
    if (!code) return [];
    const { what, phase, place } = statement;
    return [
      {
        code,
        subject: what,
        message: messageFor(code, what, phase),
        place,
        around: aroundOf(phase),
      },
    ];
  });
  const calls = record.calls.flatMap((call): Finding[] => {
    const code = call.sent ? codeOfCall(call) : undefined;
    if (!code) return [];
    const { phase, place } = call.by;
    return [
      {
        code,
        subject: subjectOf(call),
        message: messageFor(code, call.to, phase),
        place,
        around: aroundOf(phase),
      },
    ];
  });
  const rejections = record.rejections.map((reason): Finding => {
    const place = reason instanceof Error ? reason : undefined;
    const message = `A promise that nobody awaits was rejected: ${errorLine(reason)}.`;
    return { code: 'unhandled_rejection', subject: userLine(place) ?? '', message, place };
  });
  return [...noticed, ...writes, ...calls, ...rejections];
}

/** What a message of a guard is about: the same mistake, seen by the kit, is the same problem. */
function subjectIn(message: string, code: string, place: Place): string {
  if (code.startsWith('write_')) return /\(([^()]*)\)\. /.exec(message)?.[1] ?? message;
  const [, method, origin] = /sent a (\S+) request to (\S+)/.exec(message) ?? [];
  if (method !== undefined && origin !== undefined) return subjectOf({ method, origin });
  // Names and lists of phases may differ from run to run, the line does not.
  return userLine(place) ?? message.slice(0, 40);
}

function messageFor(code: string, what: string, phase: string | undefined): string {
  const place =
    phase === undefined
      ? code === 'work_after_answer'
        ? 'after the handler had returned'
        : 'outside any phase'
      : `in phase "${phase}"`;
  return `The handler did this ${place}: ${what}.`;
}
