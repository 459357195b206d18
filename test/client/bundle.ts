import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** In a process of its own: esbuild does not work in the contexts that Jest makes. */
const SCRIPT = `
  const [contents] = process.argv.slice(1);
  const { outputFiles } = require('esbuild').buildSync({
    stdin: { contents, resolveDir: process.cwd() },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
  });
  process.stdout.write(outputFiles[0].text);
`;

/** The client as a browser gets it: one file, minified. Fails if anything of Node is in it. */
export async function bundleForBrowsers(source: string): Promise<string> {
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['-e', SCRIPT, source], { cwd: ROOT });
  return stdout;
}
