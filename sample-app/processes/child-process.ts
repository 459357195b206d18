import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ReadyMessage } from './announce-ready.js';

export interface ProcessOptions {
  env: Record<string, string | undefined>;
  /** `show` lets it print to our terminal; `keep` keeps what it prints for error messages. */
  output: 'show' | 'keep';
}

/** A process of the sample that was started and is ready to be asked. */
export interface RunningProcess {
  readonly url: string;
  readonly pid: number;
  /** Resolves when it has ended, whatever ended it. */
  readonly exited: Promise<void>;
  /** What it has printed so far, with `output: 'keep'`. */
  printed(): string;
  /** Asks it to end, and waits until it has. */
  stop(): Promise<void>;
  /** `kill -9`: it gets no chance to finish anything. */
  kill(): Promise<void>;
}

/** A process that was asked to end and hangs must not outlive us. */
const STOP_TIMEOUT_MS = 15_000;

/** Starts a module as a process of its own and resolves when it has announced its address. */
export async function startProcess(module: URL, options: ProcessOptions): Promise<RunningProcess> {
  const stdio = options.output === 'keep' ? 'pipe' : 'inherit';
  const child = fork(fileURLToPath(module), {
    env: { ...process.env, ...options.env },
    execArgv: [],
    stdio: ['ignore', stdio, stdio, 'ipc'],
    // Out of the terminal's process group: Ctrl-C reaches us alone, and we end
    // the processes in the right order instead of all dying at once.
    detached: true,
  });
  const exited = once(child, 'exit').then(() => undefined);
  const printed = collectOutput(child);
  const url = await readiness(child, printed);

  return {
    url,
    pid: child.pid as number,
    exited,
    printed,
    async stop() {
      child.kill('SIGTERM');
      const overdue = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      await exited;
      clearTimeout(overdue);
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

function collectOutput(child: ChildProcess): () => string {
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => (printed += text));
  }
  return () => printed;
}

function readiness(child: ChildProcess, printed: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve((message as ReadyMessage).url));
    child.once('error', reject);
    // 'close' and not 'exit': all that it printed has arrived by then.
    child.once('close', (code, signal) => {
      const [, script = ''] = child.spawnargs;
      const what = basename(dirname(script)) + '/' + basename(script);
      reject(new Error(`${what} ended (${signal ?? code}) before it was ready.\n${printed()}`));
    });
  });
}
