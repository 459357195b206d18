import { availableParallelism } from 'node:os';

/**
 * A piece of work and what to say when it is done.
 * @typedef {{ name: string, work: () => Promise<unknown> }} Task
 */

/**
 * Does as many tasks at a time as there are cores, in their order. The first
 * failure is the failure of all; what runs by then runs to its end.
 *
 * @param {Task[]} tasks
 */
export async function inLanes(tasks) {
  const left = [...tasks];
  const lane = async () => {
    for (let task = left.shift(); task; task = left.shift()) {
      try {
        await task.work();
      } catch (error) {
        left.length = 0;
        throw new Error(`${task.name} failed.`, { cause: error });
      }
      console.log(task.name);
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: availableParallelism() }, lane));
  const failed = lanes.find((each) => each.status === 'rejected');
  if (failed) throw failed.reason;
}
