import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';

const lib = fileURLToPath(new URL('../../lib', import.meta.url));

/** Rooms that no request of a server passes. */
const ELSEWHERE = ['client', 'cli', 'testing'];

/** Once in a process. */
const AT_BOOT = [
  'copies.ts: Error.prepareStackTrace',
  'openapi/claims.ts: config.getVersioning',
  'postgres/timeline-fence.ts: options.verify',
  'postgres/timeline-fence.ts: this.undo',
];

describe('Functions that a request gives to its objects', () => {
  // V8 creates a function that is written right behind the `=` of a property in its old generation. There it
  // outlives its request, and each minor collection keeps what it can reach: all objects of the request.
  it('are never written right behind the = of a property', () => {
    expect(sources().sort().flatMap(assigned)).toEqual(AT_BOOT);
  });

  it('are found where they are', () => {
    const text =
      'a.b = () => 1; a.c ??= function () {}; a.d = e; const f = () => 1; a[g] = () => 1;';
    expect(assignedIn('x.ts', text)).toEqual(['x.ts: a.b', 'x.ts: a.c', 'x.ts: a[g]']);
  });
});

function sources(): string[] {
  return readdirSync(lib, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !ELSEWHERE.some((room) => file.startsWith(`${room}/`)),
  );
}

function assigned(file: string): string[] {
  return assignedIn(file, readFileSync(join(lib, file), 'utf8'));
}

function assignedIn(file: string, text: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node) && isFunction(node.right) && isProperty(node.left)) {
      found.push(`${file}: ${node.left.getText()}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  return found;
}

function isFunction(node: ts.Node): boolean {
  return ts.isArrowFunction(node) || ts.isFunctionExpression(node);
}

function isProperty(node: ts.Node): boolean {
  return ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node);
}
