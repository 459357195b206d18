import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { tableOf } from '../coverage/entry-point.js';
import { entryPointsOf, type ScannedModules } from '../coverage/entry-points.js';

/** Prints the entry points of an application. @returns the exit code: 1 where one is missing, 2 for wrong use */
export async function coverage(args: string[], usage: string): Promise<number> {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { export: { type: 'string' }, json: { type: 'boolean', default: false } },
    });
    const [given] = positionals;
    if (given === undefined || positionals.length > 1) throw new Mistake(usage);
    const file = resolve(given);
    const entries = entryPointsOf(await modulesOf(file, await rootModule(file, values.export)));
    // Where a module gets its imports from a forRoot(), its class alone has nothing in it.
    if (entries.length === 0) {
      throw new Mistake(
        `${file}: no entry point was found, so nothing was checked. If the root module is made by a function, such as AppModule.forRoot(), export what it returns and name that with --export.`,
      );
    }
    const missing = entries.filter((entry) => entry.coverage === 'missing').length;
    const summary = `${entries.length} entry point(s), ${missing} missing`;
    console.log(
      values.json ? JSON.stringify(entries, undefined, 2) : `${tableOf(entries)}\n\n${summary}`,
    );
    return missing === 0 ? 0 : 1;
  } catch (error) {
    const known = error instanceof Mistake || isParseError(error);
    console.error(known ? error.message : error);
    return 2;
  }
}

/** Something that whoever typed the command can put right. */
class Mistake extends Error {}

function isParseError(error: unknown): error is Error {
  return String((error as { code?: unknown }).code).startsWith('ERR_PARSE_ARGS');
}

type ModuleClass = (new (...args: never[]) => unknown) & { name: string };

/** A class with `@Module()`, or what a `forRoot()` returned. */
type Module = ModuleClass | { module: ModuleClass };

async function rootModule(file: string, name: string | undefined): Promise<Module> {
  const loaded = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  // A CommonJS file has its exports in `default` as well.
  const exports: Record<string, unknown> = { ...(loaded.default as object), ...loaded };
  if (name !== undefined) {
    if (isModule(exports[name])) return exports[name];
    throw new Mistake(`${file} has no module called ${name}.`);
  }
  const found = Object.entries(exports).filter(
    (entry): entry is [string, Module] => entry[0] !== 'default' && isModule(entry[1]),
  );
  const root = found.length === 1 ? found[0] : found.find(([each]) => each === 'AppModule');
  if (root) return root[1];
  const names = found.map(([each]) => each).join(', ');
  throw new Mistake(
    found.length === 0
      ? `${file} has no class with @Module(). Name the compiled file of the root module, such as dist/app.module.js.`
      : `${file} has several modules: ${names}. Name one with --export.`,
  );
}

/** By the metadata that `@Module()` leaves. */
function isModule(value: unknown): value is Module {
  if (typeof value === 'object' && value !== null && 'module' in value) {
    return isModule(value.module);
  }
  return (
    typeof value === 'function' &&
    ['imports', 'controllers', 'providers', 'exports'].some((key) =>
      Reflect.hasOwnMetadata(key, value),
    )
  );
}

/** Nest's own preview: it reads the modules and makes none of their providers. */
async function modulesOf(file: string, root: Module): Promise<ScannedModules> {
  // The application's Nest, which need not be the one beside this package.
  const core = createRequire(file).resolve('@nestjs/core');
  const { NestFactory } = (await import(pathToFileURL(core).href)) as {
    NestFactory: NestFactoryShape;
  };
  const app = await NestFactory.createApplicationContext(root, {
    preview: true,
    logger: ['error'],
    abortOnError: false,
  });
  return app.container.getModules().values();
}

interface NestFactoryShape {
  createApplicationContext(
    module: Module,
    options: object,
  ): Promise<{ container: { getModules(): { values(): ScannedModules } } }>;
}
