/**
 * Keys that contain a method's arguments: `order:{0}`, `{0.id}:{1}`. A template is parsed once and
 * filled in for each call. `{{` and `}}` stand for single braces.
 */
import { badOption } from '../errors.js';

const PART = /\{\{|\}\}|\{(\d+)((?:\.[^.{}]+)*)\}|[{}]/gu;
const EXPECTED = 'a key in which {0} or {0.id} stands for an argument and {{ for a brace';

/** Parses a template; throws `HOLDFAST_BAD_OPTION` if it is malformed. */
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
  return (args) => paths.map((path, at) => `${texts[at]}${valueAt(args, path)}`).join('') + end;
}

function valueAt(args: readonly unknown[], path: readonly string[]): string {
  let value: unknown = args;
  for (const name of path) {
    value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[name];
  }
  // other types would give different arguments the same key: `undefined`, `[object Object]`
  if (!/^(string|number|bigint|boolean)$/.test(typeof value)) {
    const expected = `made of strings, numbers and booleans; {${path.join('.')}} must be one`;
    throw badOption('key', expected, value);
  }
  return String(value);
}
