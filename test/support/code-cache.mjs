// Jest loads every module again for each test file, and V8 compiles it again each time:
// about 850 CommonJS and 580 ES modules of Nest, TypeORM and this library, which is
// a few tenths of a second of processor time per file. V8 can take the compiled form of the same
// source instead. It is kept for as long as the worker lives.
import { createRequire } from 'node:module';

// The object that Jest's runtime calls through: the namespace of an import is read-only.
/** @type {any} */
const vm = createRequire(import.meta.url)('node:vm');
/**
 * V8 keeps with the code who answers its `import()` and `import.meta`, which is the
 * runtime of the first test file: such a source is compiled each time.
 */
const OF_ITS_RUNTIME = /\bimport\s*[(.]/;

/** @typedef {{ code: string, data: Buffer }} Kept */
/** @type {Map<string, Kept>} */
const functions = new Map();
/** @type {Map<string, Kept>} */
const modules = new Map();

export function keepCompiledCode() {
  const { compileFunction, SourceTextModule } = vm;
  // A worker may load this file for each project of the configuration.
  if (compileFunction.keepsCode) return;

  /** @type {(code: string, parameters: string[], options: any) => any} */
  const keepFunction = (code, parameters, options) => {
    const kept = functions.get(options?.filename);
    if (kept?.code === code) {
      return compileFunction(code, parameters, { ...options, cachedData: kept.data });
    }
    if (OF_ITS_RUNTIME.test(code)) return compileFunction(code, parameters, options);
    const compiled = compileFunction(code, parameters, { ...options, produceCachedData: true });
    if (options?.filename) functions.set(options.filename, { code, data: compiled.cachedData });
    return compiled;
  };
  vm.compileFunction = Object.assign(keepFunction, { keepsCode: true });

  vm.SourceTextModule = class extends SourceTextModule {
    /**
     * @param {string} code
     * @param {any} options
     */
    constructor(code, options) {
      const kept = modules.get(options?.identifier);
      if (kept?.code === code) {
        super(code, { ...options, cachedData: kept.data });
      } else {
        super(code, options);
        if (options?.identifier && !OF_ITS_RUNTIME.test(code)) {
          modules.set(options.identifier, { code, data: this.createCachedData() });
        }
      }
    }
  };
}
