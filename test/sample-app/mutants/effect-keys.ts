import ts from 'typescript';
import { replace, type Edit, type Mistake } from './mutant.js';
import { eachNode } from './reach.js';

const RANDOM = 'globalThis.crypto.randomUUID()';

/** Each place where an idempotency key is handed on, by itself or as part of an object: without it, and with another one each time. */
export function effectKeyMistakes(body: ts.Node, checker: ts.TypeChecker): Mistake[] {
  const found: Mistake[] = [];
  const mistake = (at: ts.Node, removed: Edit, random: string) =>
    found.push(
      { kind: 'effect key removed', at, edits: [removed] },
      { kind: 'effect key random', at, edits: [replace(at, random)] },
    );
  eachNode(body, (node) => {
    if (ts.isPropertyAssignment(node)) {
      const { name, initializer } = node;
      if (name.getText() !== KEY && !isKey(initializer)) return;
      mistake(node, withComma(node), `${name.getText()}: ${RANDOM}`);
    } else if (ts.isShorthandPropertyAssignment(node) && node.name.text === KEY) {
      mistake(node, withComma(node), `${KEY}: ${RANDOM}`);
    } else if (ts.isCallExpression(node)) {
      for (const argument of node.arguments) {
        if (isKey(argument)) mistake(argument, replace(argument, 'undefined'), RANDOM);
        else if (ts.isIdentifier(argument) && hasKey(argument, checker)) {
          const name = argument.text;
          const rest = `(({ ${KEY}, ...rest }) => rest)(${name})`;
          mistake(argument, replace(argument, rest), `{ ...${name}, ${KEY}: ${RANDOM} }`);
        }
      }
    }
  });
  return found;
}

const KEY = 'idempotencyKey';

function isKey(node: ts.Expression): boolean {
  return (ts.isPropertyAccessExpression(node) ? node.name : node).getText() === KEY;
}

function hasKey(argument: ts.Identifier, checker: ts.TypeChecker): boolean {
  return checker.getTypeAtLocation(argument).getProperty(KEY) !== undefined;
}

function withComma(property: ts.Node): Edit {
  const behind = property.getSourceFile().text.slice(property.end);
  const [comma] = /^\s*,/.exec(behind) ?? [''];
  return { start: property.getStart(), end: property.end + comma.length, text: '' };
}
