import { spawn, type ChildProcess } from 'node:child_process';

/**
 * Starts a shell that waits for the end of its input, which comes when this
 * process ends for any reason, and then kills the child. The child could not do
 * it by itself while it is stopped by SIGSTOP.
 *
 * @param group it leads a group of processes, which all end with it
 */
export function endWithThisProcess(child: ChildProcess, group = false): ChildProcess {
  const script = 'read -r _; kill -KILL "$1" 2>/dev/null';
  const guard = spawn('sh', ['-c', script, 'sh', `${group ? '-' : ''}${child.pid}`], {
    detached: true, // out of reach of the terminal's Ctrl-C
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.unref();
  child.once('exit', () => guard.kill('SIGKILL'));
  return guard;
}
