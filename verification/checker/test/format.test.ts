/** Written events can be read again. An invalid line is refused, and the error names its place. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FormatError, type Happening, History, parseLine, readEvents } from '../src/index.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-history-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const EACH: readonly Happening[] = [
  { e: 'begin', localHandOffs: 8, claimWindow: 1000, ttl: 10_000, settle: 5000, seed: 7 },
  { e: 'ask', k: 'k', a: 'a1', weight: 1, capacity: 1, fair: true, wait: 50 },
  { e: 'queued', k: 'k', a: 'a1', ticket: 12 },
  { e: 'grant', k: 'k', a: 'a1', id: 'id1', fence: 17 },
  { e: 'fail', k: 'k', a: 'a2', code: null },
  { e: 'fail', k: 'k', a: 'a3', code: 'HOLDFAST_TIMEOUT' },
  { e: 'hold', k: 'k', a: 'a1' },
  { e: 'weight', k: 'k', a: 'a1', weight: 2, fence: 17, held: false },
  { e: 'use', k: 'k', a: 'a1', fence: 17, accepted: true },
  { e: 'release', k: 'k', a: 'a1' },
  { e: 'released', k: 'k', a: 'a1', outcome: 'released' },
  { e: 'lost', k: 'k', a: 'a4' },
  { e: 'force', k: 'k' },
  { e: 'forced', k: 'k', id: 'id1' },
  { e: 'crash' },
  { e: 'fault', kind: 'pause', phase: 'begin' },
  { e: 'calm' },
  { e: 'amnesia' },
  { e: 'seen', k: 'k', holders: [{ id: 'id1', fence: 17, weight: 1 }], waiters: ['id2'] },
  { e: 'end' },
];

it('writes every event to a file and reads it again', () => {
  let now = 0;
  const file = join(folder, 'a.jsonl');
  const history = new History({ now: () => (now += 0.5), file, keep: true });
  for (const happening of EACH) history.add('p1', happening);
  expect([...readEvents(file)]).toEqual(history.events);
  history.close();
  expect(history.events[1]).toMatchObject({ t: 1, p: 'p1', e: 'ask' });
  expect(history.count).toBe(EACH.length);
});

it('buffers lines if asked to, and appends to an existing file', () => {
  const file = join(folder, 'a.jsonl');
  const first = new History({ now: () => 1, file, buffered: 3 });
  first.add('p', { e: 'calm' });
  expect(readFileSync(file, 'utf8')).toBe('');
  first.close();
  expect(first.events).toEqual([]);
  const second = new History({ now: () => 2, file });
  second.add('p', { e: 'end' }, 5);
  expect([...readEvents(file)].map(({ t }) => t)).toEqual([1, 5]);
  second.close();
});

it('reads lines that cross the borders of its buffer', () => {
  const file = join(folder, 'a.jsonl');
  const line = (n: number): string => JSON.stringify({ t: n, p: 'é'.repeat(1000), e: 'calm' });
  writeFileSync(file, Array.from({ length: 2000 }, (_, n) => line(n)).join('\n'));
  expect([...readEvents(file)].map(({ t, p }) => t + p.length).at(-1)).toBe(2999);
});

it('names the line that is not an event', () => {
  const file = join(folder, 'a.jsonl');
  writeFileSync(file, '{"t":1,"p":"p","e":"calm"}\n{"t":2,"p":"p"');
  expect(() => [...readEvents(file)]).toThrow(`${file}:2: not JSON`);
});

it.each([
  ['[]', 'not an object'],
  ['{"t":1,"p":"p","e":"granted"}', 'unknown event: "granted"'],
  ['{"t":1,"p":"p","e":"toString"}', 'unknown event'],
  ['{"p":"p","e":"calm"}', 'calm.t must be a finite number, not undefined'],
  ['{"t":1,"p":"","e":"calm"}', 'calm.p must be a non-empty string, not ""'],
  ['{"t":1,"p":"p","e":"grant","k":"k","a":"a","id":"i","fence":1.5}', 'grant.fence must be'],
  ['{"t":1,"p":"p","e":"fail","k":"k","a":"a"}', 'fail.code must be null or a string'],
  ['{"t":1,"p":"p","e":"fault","kind":"x","phase":"middle"}', 'begin, end or once'],
  ['{"t":1,"p":"p","e":"seen","k":"k","holders":[{}],"waiters":[]}', 'seen.holders'],
])('refuses %s', (line, message) => {
  expect(() => parseLine(line, 'here:1')).toThrow(FormatError);
  expect(() => parseLine(line, 'here:1')).toThrow(message);
});
