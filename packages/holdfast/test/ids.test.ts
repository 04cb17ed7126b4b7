import { expect, it } from 'vitest';
import { Ids } from '../src/ids.js';

it('ids are unique, also between processes, and fit where a space ends them', () => {
  const sources = Array.from({ length: 50 }, () => new Ids());
  const ids = sources.flatMap((source) => Array.from({ length: 200 }, () => source.next()));
  expect(new Set(ids).size).toBe(10_000);
  expect(ids.every((id) => /^[\w.-]{18,40}$/.test(id))).toBe(true);
});

it('ids of one source tell whose they are', () => {
  const source = new Ids();
  expect(source.next().startsWith(`${source.process}.`)).toBe(true);
});
