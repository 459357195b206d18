// Processes that a test or the soak starts. Apart from server-process.ts, which
// knows Jest, because the soak runs without it.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Told } from './child-server.js';
import { endWithThisProcess } from './end-with-this-process.js';
import type { PlatformName } from './listen.js';

export interface ServerProcessOptions {
  /** @default 'express' */
  platform?: PlatformName;
  /** @default a free one */
  port?: number;
  env?: Record<string, string | undefined>;
  /** Options of Node, such as `--expose-gc`. */
  nodeOptions?: readonly string[];
  /**
   * One file with all that it imports, which starts in a third of the time. False for modules
   * of their own, and lines of the sources in a stack. @default true in a test
   */
  bundled?: boolean;
}

/**
 * Starts a compiled server in a process of its own. It can be used when it is `ready()`.
 *
 * @param script from the top of the repository and without extension: `test/servers/orders`
 * @param bundles the folder of servers that are one file each; without it, they load module by module
 */
export function forkServer(
  script: string,
  options: ServerProcessOptions = {},
  bundles?: string,
): ServerProcess {
  const { nodeOptions = [] } = options;
  const child = fork(join(bundles ?? process.env.TEST_BUILD ?? '', `${script}.js`), {
    env: {
      ...process.env,
      PLATFORM: options.platform ?? 'express',
      PORT: String(options.port ?? 0),
      ...options.env,
    },
    execArgv: bundles ? [...nodeOptions] : ['--enable-source-maps', ...nodeOptions],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  return new ServerProcess(child);
}

export class ServerProcess {
  /** Known once it is ready. */
  url = '';
  /** All it has printed. */
  output = '';
  /** Resolves when the process is gone, however it went. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;

  private readonly answers = new Map<number, (told: Told & { kind: 'answer' }) => void>();
  private readonly events: { name: string; value?: unknown }[] = [];
  private readonly listeners = new Set<() => void>();
  private questions = 0;

  constructor(private readonly child: ChildProcess) {
    this.exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
    child.stdout?.on('data', (chunk) => (this.output += chunk));
    child.stderr?.on('data', (chunk) => (this.output += chunk));
    child.on('message', (told: Told) => this.hear(told));
    endWithThisProcess(child);
  }

  get pid(): number {
    return this.child.pid!;
  }

  async ready(): Promise<void> {
    await this.orExit(
      'becoming ready',
      this.waitFor(() => this.url || undefined),
    );
  }

  /** Runs a command of the server (`commands` of child-server.ts) and returns its result. */
  async ask<T = unknown>(command: string, argument?: unknown): Promise<T> {
    const id = (this.questions += 1);
    const answered = new Promise<Told & { kind: 'answer' }>((resolve) => {
      this.answers.set(id, resolve);
    });
    // One that is gone is reported below, with what it has printed.
    this.child.send({ id, command, argument }, () => undefined);
    const answer = await this.orExit(`answering "${command}"`, answered);
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.value as T;
  }

  /** The next event of that name, also one that came before the question. */
  async event<T = unknown>(name: string): Promise<T> {
    const event = await this.orExit(
      `telling "${name}"`,
      this.waitFor(() => {
        const index = this.events.findIndex((candidate) => candidate.name === name);
        return index < 0 ? undefined : this.events.splice(index, 1)[0];
      }),
    );
    return event.value as T;
  }

  /** SIGKILL: no handler runs, nothing is flushed. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
  }

  /** SIGTERM: Nest's shutdown hooks run, if the server enabled them. */
  async terminate(): Promise<void> {
    this.child.kill('SIGTERM');
    await this.exited;
  }

  /** SIGSTOP: the process stops in the middle of whatever it does. */
  pause(): void {
    this.child.kill('SIGSTOP');
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  private hear(told: Told): void {
    if (told.kind === 'ready') this.url = told.url;
    if (told.kind === 'event') this.events.push(told);
    if (told.kind === 'answer') {
      this.answers.get(told.id)?.(told);
      this.answers.delete(told.id);
    }
    for (const listener of this.listeners) listener();
  }

  private waitFor<T>(look: () => T | undefined): Promise<T> {
    return new Promise((resolve) => {
      const listener = () => {
        const found = look();
        if (found === undefined) return;
        this.listeners.delete(listener);
        resolve(found);
      };
      this.listeners.add(listener);
      listener();
    });
  }

  private async orExit<T>(what: string, wanted: Promise<T>): Promise<T> {
    const exit = this.exited.then(({ code, signal }) => {
      throw new Error(`The server ended (${signal ?? code}) before ${what}:\n${this.output}`);
    });
    return Promise.race([wanted, exit]);
  }
}
