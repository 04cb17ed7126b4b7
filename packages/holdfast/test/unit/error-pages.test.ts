/** The page of the error codes names each code once, and errors name their sections. */
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { HoldfastError } from '../../src/index.js';

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
const source = read('../../src/base/errors.ts');
const page = read('../../../../docs/errors.md');

it('docs/errors.md has a section for each code, and no other', () => {
  const union = /export type HoldfastErrorCode =([^;]*);/.exec(source)?.[1] ?? '';
  const codes = [...union.matchAll(/'(\w+)'/g)].map(([, code]) => code);
  const sections = [...page.matchAll(/^## (.*)$/gm)].map(([, title]) => title);
  expect(codes.length).toBeGreaterThan(10);
  expect(new Set(sections)).toEqual(new Set(codes));
  expect(sections).toHaveLength(codes.length);
});

it('an error names its section, also when it is printed', () => {
  const error = new HoldfastError('HOLDFAST_LOST', 'gone');
  const [path, anchor] = error.page.split('#');
  expect(path).toBe('npm:holdfast/docs/errors.md');
  expect(page).toMatch(new RegExp(`^## ${anchor}$`, 'im'));
  expect(inspect(error)).toContain(error.page);
});

it('a message ends with its section, also if it contains that of another error', () => {
  const inner = new HoldfastError('HOLDFAST_LOST', 'gone');
  expect(inner.message).toBe(`gone (see ${inner.page})`);
  const outer = new HoldfastError('HOLDFAST_CLOSED', `closed: ${inner.message}; again`);
  expect(outer.message).toBe(`closed: gone; again (see ${outer.page})`);
});
