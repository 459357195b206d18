import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import type { Fence } from '../../checks/docs/pages.mjs';
import { exportsOf } from '../declared.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const HERE = fileURLToPath(new URL('./', import.meta.url));

/** What each snippet may use, and where that comes from. */
const GIVEN = new Map([
  ...named('./given.js', exportsOf('test/docs/snippets/given.ts')),
  ...named('nestjs-atomic-idempotency', exportsOf('lib/index.ts')),
  ...named('@nestjs/common', ['Body', 'Controller', 'Injectable', 'Module', 'Post', 'UseGuards']),
  ...named('typeorm', ['EntityManager']),
]);

function named(from: string, names: readonly string[]): [name: string, from: string][] {
  return names.map((name) => [name, from]);
}

/** A snippet as a module of its own: as it is if it imports something, else with what is given. */
export function moduleOf({ code }: Fence): string {
  if (/^import /m.test(code)) return code;
  const used = [...GIVEN].filter(([name]) => new RegExp(`\\b${name}\\b`).test(code));
  const imports = used.map(([name, from]) => `import { ${name} } from '${from}';`).join(' ');
  const isModule = /^(export|@\w+|class) ?/m.test(code);
  const body = isModule ? code : `export async function snippet() {\n${code}\n}`;
  return `${imports}\n${body}`;
}

/** What the compiler has to say about each snippet, with the page and line where it stands. */
export function faultsOf(snippets: readonly Fence[]): string[] {
  const files = new Map(
    snippets.map((snippet) => {
      const name = `${snippet.page.replaceAll(/\W/g, '-')}-${snippet.line}.ts`;
      return [`${HERE}${name}`, { snippet, source: moduleOf(snippet) }];
    }),
  );
  const config = ts.readConfigFile(`${ROOT}tsconfig.json`, (path) => ts.sys.readFile(path));
  const options: ts.CompilerOptions = {
    ...ts.parseJsonConfigFileContent(config.config, ts.sys, ROOT).options,
    noEmit: true,
    // A snippet shows one thought; `import type` is for the examples.
    verbatimModuleSyntax: false,
    isolatedModules: false,
  };
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path)?.source ?? readFile(path);
  host.getSourceFile = (path, target, ...rest) => {
    const file = files.get(path);
    return file
      ? ts.createSourceFile(path, file.source, target)
      : getSourceFile(path, target, ...rest);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return [...files].flatMap(([path, { snippet }]) => {
    const file = program.getSourceFile(path)!;
    const found = [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ];
    return found.map((fault) => {
      const message = ts.flattenDiagnosticMessageText(fault.messageText, '\n');
      return `${snippet.page}:${snippet.line} ${message}\n${snippet.code}`;
    });
  });
}
