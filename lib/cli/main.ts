#!/usr/bin/env node
import { coverage } from './coverage.js';

const USAGE = `Usage: nestjs-atomic-idempotency coverage <module file> [options]

Lists every route, message handler and mutation that changes something, and fails
where one has neither @Idempotent() nor @NotIdempotent(). Nothing is started: no
provider is made, and no connection is opened.

  <module file>     the compiled root module, such as dist/app.module.js
  --export <name>   the module's name in that file; by default its only module,
                    or the one that is called AppModule
  --json            write JSON instead of a table
`;

const [command, ...args] = process.argv.slice(2);

if (command === 'coverage') {
  void coverage(args, USAGE).then((code) => {
    process.exitCode = code;
  });
} else {
  const asked = command === '--help' || command === '-h';
  (asked ? process.stdout : process.stderr).write(USAGE);
  process.exitCode = asked ? 0 : 2;
}
