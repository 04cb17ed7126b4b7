/**
 * Keys with a method's arguments: `order:{0}`, `{0.id}:{1}`. `{{` and `}}` stand for single braces.
 *
 * With several arguments, a backslash precedes each backslash of a value, and each character that
 * could be taken for the text between two values, so values with different texts have different
 * keys.
 */
import { badOption } from '../base/errors.js';

const PART = /\{\{|\}\}|\{(\d+)((?:\.[^.{}]+)*)\}|[{}]/gu;
const EXPECTED = 'a key in which {0} or {0.id} stands for an argument and {{ for a brace';

export function keyTemplate(template: string): (args: readonly unknown[]) => string {
  const texts: string[] = [];
  const paths: string[][] = [];
  let text = '';
  let from = 0;
  for (const { 0: part, 1: index, 2: path, index: at } of template.matchAll(PART)) {
    text += template.slice(from, at);
    from = at + part.length;
    if (index !== undefined) {
      texts.push(text);
      text = '';
      paths.push([index, ...(path as string).split('.').slice(1)]);
    } else if (part.length === 2) {
      text += part[0];
    } else {
      throw badOption('key', EXPECTED, template);
    }
  }
  const end = text + template.slice(from);
  const between = texts.slice(1);
  // nothing would separate two values
  if (between.includes(''))
    throw badOption('key', 'a key with text between two arguments', template);
  if (between.some((one) => one.includes('\\')))
    throw badOption('key', 'a key without a backslash between two arguments', template);
  const marks = new Set(['\\', ...Array.from(between.join(''))]);
  const escaped = (value: string): string =>
    between.length === 0 ? value : Array.from(value, (c) => (marks.has(c) ? `\\${c}` : c)).join('');
  const part = (args: readonly unknown[], path: readonly string[], at: number): string =>
    `${texts[at]}${escaped(valueAt(args, path))}`;
  return (args) => paths.map((path, at) => part(args, path, at)).join('') + end;
}

function valueAt(args: readonly unknown[], path: readonly string[]): string {
  let value: unknown = args;
  for (const name of path) {
    value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[name];
  }
  // other types would give different arguments one key: `undefined`, `[object Object]`
  if (!/^(string|number|bigint|boolean)$/.test(typeof value)) {
    const expected = `made of strings, numbers and booleans; {${path.join('.')}} must be one`;
    throw badOption('key', expected, value);
  }
  return String(value);
}
