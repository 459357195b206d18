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

keepCompiledCode();

export default TestEnvironment;
