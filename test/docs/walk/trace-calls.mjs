// Hooks of Node's module loader: every function of lib that has a body notes its
// name when it is called, as `lib/keys/recorder.ts:Recorder.record`. The notes go
// to `globalThis.calls`, while there is such an array.
import ts from 'typescript';

/**
 * @param {string} url
 * @param {object} context
 * @param {(url: string, context: object) => Promise<{ source?: unknown }>} nextLoad
 */
export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context);
  const file = /\/(lib\/[^?]+)\.js$/.exec(url)?.[1];
  if (!file || !url.includes('/.cache/')) return loaded;
  return { ...loaded, source: withNotes(String(loaded.source), `${file}.ts`) };
}

/**
 * @param {string} source compiled, so that there are no types in it
 * @param {string} file
 */
export function withNotes(source, file) {
  /** @type {{ at: number, text: string }[]} */
  const insertions = [];
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.ESNext, true, ts.ScriptKind.JS);
  visit(tree);
  return insertions
    .toSorted((a, b) => b.at - a.at)
    .reduce((text, { at, text: note }) => text.slice(0, at) + note + text.slice(at), source);

  /** @param {ts.Node} node */
  function visit(node) {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const body = /** @type {ts.Node} */ (node.body);
      const note = `globalThis.calls?.push(${JSON.stringify(`${file}:${nameOf(node)}`)})`;
      if (ts.isBlock(body)) insertions.push({ at: body.getStart(tree) + 1, text: `${note};` });
      else {
        insertions.push({ at: body.getStart(tree), text: `(${note},` });
        insertions.push({ at: body.end, text: ')' });
      }
    }
    ts.forEachChild(node, visit);
  }
}

/**
 * @param {ts.Node} node a function of any kind
 * @returns {string} its name, after the one of its class; a function without a name has the
 *   name of the function around it
 */
function nameOf(node) {
  const { parent } = node;
  if (ts.isConstructorDeclaration(node)) return `${classOf(node)}constructor`;
  const named = /** @type {ts.NamedDeclaration} */ (node).name;
  if (named) return classOf(node) + named.getText();
  if (ts.isPropertyDeclaration(parent)) return classOf(parent) + parent.name.getText();
  if (ts.isVariableDeclaration(parent)) return parent.name.getText();
  const around = ts.findAncestor(parent, ts.isFunctionLike);
  return around ? nameOf(around) : '(top)';
}

/** @param {ts.Node} member */
function classOf(member) {
  const { parent } = member;
  return ts.isClassLike(parent) && parent.name ? `${parent.name.text}.` : '';
}
