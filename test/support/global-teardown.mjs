import { endTestRun } from './global-setup.mjs';

export default async function globalTeardown() {
  await endTestRun();
}
