import { Session } from 'node:inspector/promises';
import type { Questions } from './serve.js';

const session = new Session();

/** A profile of the time between the two questions, without the start of the process. */
export const profiling: Questions = {
  async startProfile() {
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: 200 });
    await session.post('Profiler.start');
  },
  async stopProfile() {
    const { profile } = await session.post('Profiler.stop');
    session.disconnect();
    return profile;
  },
};
