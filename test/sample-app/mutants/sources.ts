import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import type { Mutant } from './mutant.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** The folder of the sample app. */
export const SAMPLE = join(ROOT, 'sample-app');

/** Why something does not compile. */
export interface Fault {
  /** `TS2304` */
  code: string;
  text: string;
}

/** The sample app as the compiler sees it, and what the compiler says of its mutants. */
export class Sources {
  private readonly options: ts.CompilerOptions;
  private readonly host: ts.CompilerHost;
  private readonly program: ts.Program;
  /** Texts of files that are not on the disk. */
  private readonly invented = new Map<string, string>();

  constructor() {
    const config = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path));
    const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, ROOT);
    this.options = { ...options, noEmit: true };
    this.host = ts.createCompilerHost(this.options, true);
    const { fileExists, readFile, getSourceFile } = this.host;
    this.host.fileExists = (path) => this.invented.has(path) || fileExists(path);
    this.host.readFile = (path) => this.invented.get(path) ?? readFile(path);
    // The second program gets the files of the first one, which need not be read again.
    const read = new Map<string, ts.SourceFile | undefined>();
    this.host.getSourceFile = (path, target, ...rest) => {
      const text = this.invented.get(path);
      if (text !== undefined) return ts.createSourceFile(path, text, target, true);
      if (!read.has(path)) read.set(path, getSourceFile(path, target, ...rest));
      return read.get(path);
    };
    this.program = ts.createProgram([join(SAMPLE, 'app.module.ts')], this.options, this.host);
  }

  get checker(): ts.TypeChecker {
    return this.program.getTypeChecker();
  }

  /** All that the app consists of. */
  get files(): ts.SourceFile[] {
    return this.program.getSourceFiles().filter(({ fileName }) => isOfSample(fileName));
  }

  /** The same, from the folder of the sample and without extension: `rides/rides.service`. */
  get names(): string[] {
    return this.files.map(({ fileName }) => relative(SAMPLE, fileName).replace(/\.ts$/, ''));
  }

  /**
   * What is wrong with each mutant, as `tsc` would say; undefined where it compiles. All of them
   * stand beside the file that they are made of, in one program: its own declarations are all that
   * a mutant can break, because what other files use of it has declared types.
   */
  faultsOf(mutants: readonly Mutant[]): (Fault | undefined)[] {
    const paths = mutants.map(({ file, text }, index) => {
      const path = join(SAMPLE, dirname(file), `mutant-${index}.ts`);
      this.invented.set(path, text);
      return path;
    });
    const program = ts.createProgram(paths, this.options, this.host);
    return paths.map((path) => {
      const file = program.getSourceFile(path)!;
      const [fault] = [
        ...program.getSyntacticDiagnostics(file),
        ...program.getSemanticDiagnostics(file),
      ];
      return (
        fault && {
          code: `TS${fault.code}`,
          text: ts.flattenDiagnosticMessageText(fault.messageText, ' '),
        }
      );
    });
  }
}

export function isOfSample(path: string): boolean {
  return path.startsWith(`${SAMPLE}/`) && !path.includes('/node_modules/');
}
