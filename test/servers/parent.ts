// A process with children that shall not outlive it, as a test's worker has
// them. The test kills it.
import { spawn, type ChildProcess } from 'node:child_process';
import { Module } from '@nestjs/common';
import { serve } from '../support/child-server.js';
import { endWithThisProcess } from '../support/end-with-this-process.js';

const children: ChildProcess[] = [];

@Module({})
class ParentModule {}

await serve(ParentModule, {
  commands: {
    /** Returns the child and its guard. */
    startChild: () => {
      const child = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 60_000)']);
      children.push(child);
      return [child.pid, endWithThisProcess(child).pid];
    },
    signalChild: ({ pid, signal }: { pid: number; signal: NodeJS.Signals }) =>
      children.find((child) => child.pid === pid)!.kill(signal),
  },
});
