import { Converter, ReflectionKind } from 'typedoc';

/**
 * Leaves constructors out of the API: Nest calls them, and what they take is
 * nothing that the package exports.
 *
 * @param {import('typedoc').Application} app
 */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const each of project.getReflectionsByKind(ReflectionKind.Constructor)) {
      project.removeReflection(each);
    }
  });
}
