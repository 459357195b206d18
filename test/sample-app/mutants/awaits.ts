import ts from 'typescript';
import { insert, type Mistake } from './mutant.js';
import { eachNode } from './reach.js';

/** Each promise that is awaited or returned: neither awaited nor returned. */
export function awaitMistakes(body: ts.Node, checker: ts.TypeChecker): Mistake[] {
  const found: Mistake[] = [];
  const isPromise = (node: ts.Expression) =>
    checker.getTypeAtLocation(node).symbol?.name === 'Promise';
  eachNode(body, (node) => {
    if (ts.isAwaitExpression(node)) {
      const edits = [{ start: node.getStart(), end: node.expression.getStart(), text: '' }];
      found.push({ kind: 'not awaited', at: node, edits });
    } else if (ts.isReturnStatement(node) && node.expression && isPromise(node.expression)) {
      const edits = [{ start: node.getStart(), end: node.expression.getStart(), text: '' }];
      found.push({ kind: 'not returned', at: node, edits });
    } else if (ts.isArrowFunction(node) && !ts.isBlock(node.body) && isPromise(node.body)) {
      const isAsync = node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword);
      const edits = [
        // The types of a phase refuse a function that does not even return a promise.
        insert(node.getStart(), isAsync ? '' : 'async '),
        insert(node.body.getStart(), '{ '),
        insert(node.body.end, '; }'),
      ];
      found.push({ kind: 'not returned', at: node.body, edits });
    }
  });
  return found;
}
