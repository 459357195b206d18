import type { CrashSafetyOptions, CrashSafetyProgress } from './crash-safety.options.js';

/** Tells whoever wants to know how far the kit has come; by default the terminal, on one line. */
export function progressOf({
  progress,
}: CrashSafetyOptions): (progress: CrashSafetyProgress) => void {
  if (typeof progress === 'function') return progress;
  if (progress === false || !process.stderr.isTTY) return () => undefined;
  return ({ done, of, disturbance, problems }) => {
    const line = `crash safety ${done}/${of}, problems in ${problems} runs: ${disturbance}`;
    process.stderr.write(`\r\x1b[K${done === of ? '' : line.slice(0, process.stderr.columns - 1)}`);
  };
}
