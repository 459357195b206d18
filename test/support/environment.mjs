import { TestEnvironment } from 'jest-environment-node';

// This file is loaded by Jest itself, outside the tests' sandbox, so `process` is
// the worker's real one. A worker whose parent was killed would otherwise live on
// for as long as a test keeps a server or a connection open. It looks for another
// parent instead of listening for 'disconnect', because that listener would itself
// keep every worker from ending.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.exit(1);
}, 500).unref();

// A worker that has nothing left to do takes its time to tear down hundreds of
// megabytes of modules, which no test file gives back. On a busy machine that is
// more than the 500 ms after which Jest kills it and blames the tests for handles
// that they have not left open. So it leaves at once. One that does have an open
// handle never comes here, and Jest still says so. In Jest's own process, as with
// --runInBand, the exit code counts.
if (process.argv[1]?.endsWith('processChild.js')) {
  process.once('beforeExit', () => {
    process.once('exit', () => process.kill(process.pid, 'SIGKILL'));
  });
}

export default TestEnvironment;
