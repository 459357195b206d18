import ts from 'typescript';
import { insert, replace, type Edit, type Mistake } from './mutant.js';
import {
  OUTSIDE_MANAGER,
  phaseWorkIn,
  usesOf,
  withOutsideManager,
  type PhaseWork,
} from './phase-work.js';
import { eachNode, functionsNamed } from './reach.js';

/** What a statement has to do with in place of what a phase hands to its function. */
const STAND_INS = {
  tx: OUTSIDE_MANAGER,
  effect:
    'Object.assign({ idempotencyKey: globalThis.crypto.randomUUID() }, { signal: new AbortController().signal })',
};

/** Each statement of a phase that writes or calls: in front of the phase, and behind it. */
export function moveMistakes(body: ts.Node, checker: ts.TypeChecker): Mistake[] {
  return phaseWorkIn(body, checker).flatMap((phase) =>
    linesOf(phase.work)
      .filter((line) => writesOrCalls(line, phase, checker))
      .flatMap((line): Mistake[] => {
        const outside = withOutsideManager(line);
        return [
          { kind: 'moved before', at: line, edits: [...before(line, phase), ...outside] },
          { kind: 'moved after', at: line, edits: [...after(line, phase), ...outside] },
        ];
      }),
  );
}

/** A statement that has no statements in it, or the expression that an arrow function is. */
type Line = ts.ExpressionStatement | ts.VariableStatement | ts.ReturnStatement | ts.Expression;

function linesOf({ body }: PhaseWork['work']): Line[] {
  if (!ts.isBlock(body)) return [body];
  const lines: Line[] = [];
  eachNode(body, (node) => {
    if (isLine(node)) lines.push(node);
  });
  return lines;
}

function isLine(node: ts.Node): node is Exclude<Line, ts.Expression> {
  return (
    ts.isExpressionStatement(node) ||
    ts.isVariableStatement(node) ||
    (ts.isReturnStatement(node) && node.expression !== undefined)
  );
}

/** Whether it uses the transaction, or calls a function of the app. */
function writesOrCalls(line: Line, { gets, work }: PhaseWork, checker: ts.TypeChecker): boolean {
  const [first] = work.parameters;
  const uses = gets === 'tx' && first ? usesOf(first, checker) : [];
  let found = uses.some((use) => use.pos >= line.pos && use.end <= line.end);
  eachNode(line, (node) => {
    if (!ts.isCallExpression(node)) return;
    const { expression } = node;
    const name = ts.isPropertyAccessExpression(expression) ? expression.name : expression;
    found ||= functionsNamed(name, checker).length > 0;
  });
  return found;
}

function before(line: Line, { work, gets, statement }: PhaseWork): Edit[] {
  const [first] = work.parameters;
  const given = first ? `const ${first.name.getText()} = ${STAND_INS[gets]}; ` : '';
  const value = valueOf(line);
  if (!value) {
    return [insert(statement.getStart(), `${given}${line.getText()} `), replace(line, '')];
  }
  return [
    insert(statement.getStart(), `${given}const __moved = await ${value.getText()}; `),
    replace(value, 'Promise.resolve(__moved)'),
  ];
}

/** Put off, with all that it uses of the phase, until the phase is through. */
function after(line: Line, { work, gets, statement }: PhaseWork): Edit[] {
  const [first] = work.parameters;
  // Of an effect, everything is still there.
  const given = first && gets === 'tx' ? `const ${first.name.getText()} = ${STAND_INS.tx}; ` : '';
  const value = valueOf(line);
  const put = (text: string) => `__later.push(async () => { ${given}${text} })`;
  const later = value
    ? replace(value, `Promise.resolve(void ${put(`await ${value.getText()};`)})`)
    : replace(line, `${put(line.getText())};`);
  return [
    insert(statement.getStart(), 'const __later: (() => Promise<unknown>)[] = []; '),
    later,
    ...behind(statement, 'for (const each of __later) await each();'),
  ];
}

function behind(statement: ts.Statement, text: string): Edit[] {
  if (!ts.isReturnStatement(statement) || !statement.expression) {
    return [insert(statement.end, ` ${text}`)];
  }
  const { expression } = statement;
  return [
    { start: statement.getStart(), end: expression.getStart(), text: 'const __result = await ' },
    insert(statement.end, ` ${text} return __result;`),
  ];
}

/** What the function of the phase returns by this line. */
function valueOf(line: Line): ts.Expression | undefined {
  if (ts.isReturnStatement(line)) return line.expression;
  return isLine(line) ? undefined : line;
}
