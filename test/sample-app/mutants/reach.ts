import ts from 'typescript';
import { isOfSample, type Sources } from './sources.js';

/** Methods with one of these are called from outside: by a client, or by the outbox. */
const ENTRIES = new Set(['Idempotent', 'OutboxHandler']);

/** The functions of the sample that do the work of requests, each with the entries that lead to it. */
export type Reach = Map<ts.FunctionLikeDeclaration, Set<string>>;

/**
 * What can be reached from idempotent routes and outbox handlers: whatever is named in one of
 * their functions, and in the functions that are named there, and so on.
 */
export function reachOf(sources: Sources): Reach {
  const reach: Reach = new Map();
  for (const file of sources.files) {
    eachNode(file, (node) => {
      if (ts.isMethodDeclaration(node) && isEntry(node)) follow(node, nameOf(node));
    });
  }
  return reach;

  function follow(work: ts.FunctionLikeDeclaration, entry: string): void {
    const entries = reach.get(work) ?? new Set();
    if (entries.has(entry)) return;
    reach.set(work, entries.add(entry));
    eachNode(work.body!, (node) => {
      if (!ts.isIdentifier(node)) return;
      for (const named of functionsNamed(node, sources.checker)) follow(named, entry);
    });
  }
}

/** The functions of the sample that a name stands for. */
export function functionsNamed(
  name: ts.Node,
  checker: ts.TypeChecker,
): ts.FunctionLikeDeclaration[] {
  let symbol = checker.getSymbolAtLocation(name);
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  return (symbol?.declarations ?? []).filter(
    (declaration): declaration is ts.FunctionDeclaration | ts.MethodDeclaration =>
      (ts.isFunctionDeclaration(declaration) || ts.isMethodDeclaration(declaration)) &&
      declaration.body !== undefined &&
      isOfSample(declaration.getSourceFile().fileName),
  );
}

export function eachNode(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => eachNode(child, visit));
}

function isEntry(method: ts.MethodDeclaration): boolean {
  return (ts.getDecorators(method) ?? []).some(
    ({ expression }) =>
      ts.isCallExpression(expression) && ENTRIES.has(expression.expression.getText()),
  );
}

/** `RidesController.request` */
function nameOf(method: ts.MethodDeclaration): string {
  return `${(method.parent as ts.ClassDeclaration).name?.text}.${method.name.getText()}`;
}
