/**
 * Copies a built library, with a call of a recorder at the start of each function. Arrow functions
 * count too.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { parseSync } from 'oxc-parser';

/** The global function that each copied function calls, with `FILE#NAME`. */
export const RECORDER = '$holdfastEntered';

const FUNCTIONS = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;

interface Insertion {
  readonly at: number;
  readonly text: string;
}

/** A node of the syntax tree, as far as it is read here. */
interface Syntax {
  readonly type: string;
  readonly body?: Syntax;
  readonly start: number;
  readonly end: number;
  readonly key?: { readonly name?: string; readonly value?: string };
  readonly id?: { readonly name?: string } | null;
}

/** Copies all modules of the folder `from` into `to`. Returns the number of functions. */
export function instrument(from: string, to: string): number {
  let functions = 0;
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.js')) continue;
    const path = join(entry.parentPath, entry.name);
    const name = relative(from, path);
    // the maps are not copied
    const text = readFileSync(path, 'utf8').replace(/\/\/# sourceMappingURL=.*\n?$/, '');
    const found = insertions(text, path, name.replace(/\.js$/, ''));
    functions += found.length;
    const target = join(to, name);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, inserted(text, found));
  }
  writeFileSync(join(to, 'package.json'), '{"type":"module"}');
  return functions;
}

function inserted(text: string, found: readonly Insertion[]): string {
  let result = '';
  let from = 0;
  for (const { at, text: added } of found.toSorted((a, b) => a.at - b.at)) {
    result += text.slice(from, at) + added;
    from = at;
  }
  return result + text.slice(from);
}

function insertions(text: string, path: string, file: string): Insertion[] {
  const found: Insertion[] = [];
  const visit = (node: unknown, outer: string): void => {
    if (Array.isArray(node)) for (const one of node) visit(one, outer);
    if (!isSyntax(node)) return;
    const name = node.key?.name ?? node.key?.value ?? node.id?.name ?? outer;
    if (FUNCTIONS.test(node.type) && node.body !== undefined) {
      const call = `globalThis.${RECORDER}?.(${JSON.stringify(`${file}#${name}`)})`;
      const { body } = node;
      // an arrow function may return an expression: the call comes before it, with a comma
      if (body.type === 'BlockStatement') found.push({ at: body.start + 1, text: `${call};` });
      else found.push({ at: body.start, text: `(${call},` }, { at: body.end, text: ')' });
    }
    for (const value of Object.values(node)) visit(value, name);
  };
  visit(parseSync(path, text).program.body, 'anonymous');
  return found;
}

function isSyntax(node: unknown): node is Syntax {
  return typeof node === 'object' && node !== null && 'type' in node;
}
