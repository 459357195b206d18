import ts from 'typescript';
import { insert, type Edit } from './mutant.js';
import { eachNode } from './reach.js';

/** A function that a phase calls: that of a local phase, or `call` or `record` of a foreign one. */
export interface PhaseWork {
  /** Whether its first parameter is the `tx` of a transaction, or the effect of a call. */
  gets: 'tx' | 'effect';
  work: ts.ArrowFunction | ts.FunctionExpression;
  /** The statement that the phase is part of. */
  statement: ts.Statement;
}

export function phaseWorkIn(body: ts.Node, checker: ts.TypeChecker): PhaseWork[] {
  const found: PhaseWork[] = [];
  eachNode(body, (node) => {
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return;
    const { expression: phases, name } = node.expression;
    if (checker.getTypeAtLocation(phases).symbol?.name !== 'AtomicPhase') return;
    const statement = statementAround(node);
    const [, given] = node.arguments;
    if (name.text === 'local' && given && isWork(given)) {
      found.push({ gets: 'tx', work: given, statement });
    }
    if (name.text !== 'foreign' || !given || !ts.isObjectLiteralExpression(given)) return;
    for (const property of given.properties) {
      if (!ts.isPropertyAssignment(property) || !isWork(property.initializer)) continue;
      const work = property.initializer;
      const part = property.name.getText();
      if (part === 'call') found.push({ gets: 'effect', work, statement });
      if (part === 'record') found.push({ gets: 'tx', work, statement });
    }
  });
  return found;
}

/** The places where a function uses one of its parameters. */
export function usesOf(parameter: ts.ParameterDeclaration, checker: ts.TypeChecker): ts.Node[] {
  const uses: ts.Node[] = [];
  const symbol = checker.getSymbolAtLocation(parameter.name);
  eachNode(parameter.parent, (node) => {
    if (node === parameter.name || !ts.isIdentifier(node) || !symbol) return;
    if (checker.getSymbolAtLocation(node) === symbol) uses.push(node);
  });
  return uses;
}

/** An entity manager that is not in the phase's transaction, and what it takes to have one. */
export const OUTSIDE_MANAGER = 'this.__outside.manager';

export function withOutsideManager(node: ts.Node): Edit[] {
  let around = node;
  while (!ts.isClassDeclaration(around)) around = around.parent;
  return [
    insert(
      0,
      "import { InjectDataSource as __Inject } from '@nestjs/typeorm'; import { DataSource as __DataSource } from 'typeorm'; ",
    ),
    insert(around.members.pos, ' @__Inject() readonly __outside!: __DataSource; '),
  ];
}

function isWork(node: ts.Node): node is PhaseWork['work'] {
  return ts.isArrowFunction(node) || ts.isFunctionExpression(node);
}

function statementAround(node: ts.Node): ts.Statement {
  let around = node;
  while (!ts.isBlock(around.parent)) around = around.parent;
  return around as ts.Statement;
}
