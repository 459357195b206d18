import { readFileSync } from 'node:fs';
import ts from 'typescript';

function sourceOf(file: string): ts.SourceFile {
  const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
}

function find<T extends ts.Statement>(
  file: string,
  is: (statement: ts.Statement) => statement is T,
  name: string,
): T {
  const statement = sourceOf(file).statements.find(
    (each): each is T => is(each) && 'name' in each && (each.name as ts.Identifier).text === name,
  );
  if (!statement) throw new Error(`${file} has no ${name} any more.`);
  return statement;
}

/** The names that a file exports: by a list, or as a declared constant. */
export function exportsOf(file: string): string[] {
  return sourceOf(file).statements.flatMap((statement) => {
    if (ts.isVariableStatement(statement)) {
      return statement.declarationList.declarations.map(({ name }) => (name as ts.Identifier).text);
    }
    const clause = ts.isExportDeclaration(statement) ? statement.exportClause : undefined;
    return clause && ts.isNamedExports(clause) ? clause.elements.map(({ name }) => name.text) : [];
  });
}

/** The members of an interface, which exist for the compiler only. */
export function membersOf(file: string, name: string): string[] {
  const { members } = find(file, ts.isInterfaceDeclaration, name);
  return members.map((member) => (member.name as ts.Identifier).text);
}

/** The texts that a union allows. */
export function textsOf(file: string, name: string): string[] {
  const { type } = find(file, ts.isTypeAliasDeclaration, name);
  return textsIn(type);
}

/** The texts of a constant, such as a set. */
export function textsOfConstant(file: string, name: string): string[] {
  const declarations = sourceOf(file)
    .statements.filter(ts.isVariableStatement)
    .flatMap(({ declarationList }) => [...declarationList.declarations]);
  const found = declarations.find((each) => (each.name as ts.Identifier).text === name);
  if (!found) throw new Error(`${file} has no ${name} any more.`);
  return textsIn(found);
}

function textsIn(node: ts.Node): string[] {
  if (ts.isStringLiteral(node)) return [node.text];
  const texts: string[] = [];
  ts.forEachChild(node, (child) => void texts.push(...textsIn(child)));
  return texts;
}
