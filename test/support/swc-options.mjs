/**
 * How the tests compile TypeScript: one file at a time, with the decorators and
 * the constructor metadata that Nest and TypeORM read.
 *
 * @type {import('@swc/core').Options}
 */
export const swcOptions = {
  swcrc: false,
  configFile: false,
  sourceMaps: 'inline',
  jsc: {
    target: 'es2022',
    parser: { syntax: 'typescript', decorators: true },
    transform: {
      legacyDecorator: true,
      decoratorMetadata: true,
      // As in tsconfig.json: an import of a type without `import type` fails here too.
      verbatimModuleSyntax: true,
    },
    // Nest names providers, and TypeORM names tables, after their classes.
    keepClassNames: true,
  },
  module: { type: 'es6' },
};
