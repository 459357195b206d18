// The sample app, in a process that tells which fault points its requests pass
// and stops them there, so that a test can kill it at exactly that moment.
import { Maintenance } from '../../lib/index.js';
import { observeFaultPoints } from '../../lib/faults/fault-points.js';
import { AppModule } from '../../sample-app/app.module.js';
import { readConfiguration } from '../../sample-app/configuration.js';
import { emit, serve } from '../support/child-server.js';

const passed: string[] = [];
let stopAt: string | undefined;

observeFaultPoints(({ name }) => {
  if (name !== stopAt) return void passed.push(name);
  stopAt = undefined;
  emit('stopped', name);
  // For good: whoever asked for it is about to kill this process.
  return new Promise(() => undefined);
});

await serve(AppModule.forRoot(readConfiguration(process.env)), {
  commands: {
    /** The next request that comes to this fault point stays there. */
    stopAt: (point: string) => void (stopAt = point),
    /** The fault points that requests have passed since the last question. */
    passed: () => passed.splice(0),
    /** One batch of a job, now. */
    runJob: (job: Parameters<Maintenance['runOnce']>[0], app) => app.get(Maintenance).runOnce(job),
  },
});
