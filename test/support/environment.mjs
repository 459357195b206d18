import { TestEnvironment } from 'jest-environment-node';
import { keepCompiledCode } from './code-cache.mjs';

// This file is loaded by Jest itself, outside the tests' sandbox, so `process` is
// the worker's real one. A worker whose parent was killed would otherwise live on
// for as long as a test keeps a server or a connection open. It looks for another
// parent instead of listening for 'disconnect', because that listener would itself
// keep every worker from ending.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.exit(1);
}, 500).unref();

// Jest gives a worker 500 ms to end, and then reports that tests have left something open.
// These workers have nothing open: they reach `exit` within milliseconds. But on a busy
// machine Node needs up to 700 ms more to take down the modules of all test files, which it
// never frees before. Nothing is lost without that. A worker that does have an open handle
// never comes to `beforeExit`, and Jest still reports it. In Jest's own process, as with
// --runInBand, the exit code counts.
if (process.argv[1]?.endsWith('processChild.js')) {
  process.once('beforeExit', () => {
    process.once('exit', () => process.kill(process.pid, 'SIGKILL'));
  });
}

keepCompiledCode();

export default TestEnvironment;
