import { TestEnvironment } from 'jest-environment-node';

// This file is loaded by Jest itself, outside the tests' sandbox, so `process` is
// the worker's real one. A worker whose parent was killed would otherwise live on
// for as long as a test keeps a server or a connection open.
if (process.connected) process.once('disconnect', () => process.exit(1));

export default TestEnvironment;
