// A program: `node bundle-servers.mjs <build> <folder>` puts each server that tests start into one
// file with the packages that it imports. Node needs 1.4 seconds of processor time to load
// the 1,400 modules of Nest, TypeORM and this library one by one, and 0.4 to load the
// bundle; a run of all tests starts more than a hundred of these processes.
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build as bundle } from 'esbuild';

const [build = '', outdir = ''] = process.argv.slice(2);

const programs = [...(await testServers()), 'sample-app/payment-provider/main.js'];
// Nest 11 is CommonJS, and imports itself dynamically: in a bundle that gives the default export alone.
if (await isModule('@nestjs/core')) await bundleAll();
else await referToAll();

function bundleAll() {
  return bundle({
    absWorkingDir: build,
    entryPoints: programs,
    outbase: '.',
    outdir,
    bundle: true,
    // What servers have in common is read, bundled and written once.
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Nest names providers, and TypeORM names tables, after their classes.
    keepNames: true,
    // TypeORM requires `pg` by a name that esbuild does not see. Nest imports the others
    // dynamically, and of CommonJS in a bundle that gives the default export alone.
    external: [
      'pg',
      'class-transformer',
      'class-validator',
      'amqp-connection-manager',
      'amqplib',
      '@nats-io/transport-node',
    ],
    plugins: [
      { name: 'optional-packages', setup: skipMissingPackages },
      { name: 'one-typeorm', setup: shareTypeorm },
    ],
    // What CommonJS modules require at run time.
    banner: {
      js: `import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);`,
    },
    logLevel: 'error',
  });
}

/** Each server as it is: it starts more slowly. */
async function referToAll() {
  for (const program of programs) {
    const file = join(outdir, program);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `import ${JSON.stringify(pathToFileURL(join(build, program)).href)};\n`);
  }
}

/** @param {string} name of a package */
async function isModule(name) {
  const file = createRequire(import.meta.url).resolve(`${name}/package.json`);
  return JSON.parse(await readFile(file, 'utf8')).type === 'module';
}

async function testServers() {
  const files = await readdir(join(build, 'test/servers'));
  return files.filter((file) => file.endsWith('.js')).map((file) => `test/servers/${file}`);
}

/**
 * Nest imports what a user may have installed, and does without it if it is missing.
 * @param {import('esbuild').PluginBuild} plugin
 */
function skipMissingPackages(plugin) {
  const asked = Symbol('asked');
  plugin.onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...from }) => {
    if (pluginData === asked || from.kind === 'entry-point') return undefined;
    const { kind, importer, resolveDir } = from;
    const found = await plugin.resolve(path, { kind, importer, resolveDir, pluginData: asked });
    return found.errors.length > 0 ? { path, external: true } : found;
  });
}

/**
 * `@nestjs/typeorm` requires TypeORM with a function that it makes, which esbuild does not
 * follow: without this, Node would load a second copy beside the one in the bundle.
 * @param {import('esbuild').PluginBuild} plugin
 */
function shareTypeorm(plugin) {
  plugin.onLoad({ filter: /@nestjs.typeorm.*typeorm-compat\.js$/ }, async ({ path }) => {
    const source = await readFile(path, 'utf8');
    return { contents: source.replace('const require = createRequire(import.meta.url);', '') };
  });
}
