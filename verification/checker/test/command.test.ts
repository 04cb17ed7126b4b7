/** The command `check-history`, and histories that are too large to write by hand. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { generate } from '../src/generate.js';
import { ALL, type HistoryEvent, inOrder, violations } from '../src/index.js';
import { parseHistory } from './support/parse-history.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-history-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const run = (...words: string[]): { status: number | null; stdout: string; stderr: string } =>
  spawnSync(process.execPath, [main, ...words], { encoding: 'utf8' });

function write(name: string, events: readonly HistoryEvent[]): string {
  const file = join(folder, name);
  writeFileSync(file, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  return file;
}

const OVERLAP = `0 p1 ask a\n1 p1 grant a 1\n2 p2 ask b\n3 p2 grant b 2\n4 p1 hold a\n5 p1 lost a
  6 p2 release b\n7 p2 released b freed\n7 p1 fault cut once`;

it('prints counts and violations, and exits with 1 if there is a violation', () => {
  const good = write('good.jsonl', parseHistory('0 p1 ask a\n1 p1 fail a'));
  const bad = write('bad.jsonl', parseHistory(OVERLAP));
  expect(run(good)).toMatchObject({ status: 0 });
  const { status, stdout } = run(good, bad);
  expect(status).toBe(1);
  expect(stdout).toMatch(/grants +2\n/);
  expect(stdout).toMatch(/fault cut +1\n/);
  expect(stdout).toMatch(/violations: exclusion +1\n/);
  expect(stdout).toContain('exclusion at 3: 2 of 1 held at once on k\n    p1 a on k');
});

it('merges the parts of one history', () => {
  const events = parseHistory(OVERLAP);
  const one = write(
    'one.jsonl',
    events.filter(({ p }) => p === 'p1'),
  );
  const rest = write(
    'rest.jsonl',
    events.filter(({ p }) => p !== 'p1'),
  );
  expect(run('--merge', rest, one).stdout).toContain('2 of 1 held at once');
  // without --merge no file has an overlap, and one has no end event
  expect(run(one, rest).stdout).not.toContain('2 of 1 held at once');
});

it('refuses a file that it cannot parse', () => {
  const file = join(folder, 'a.jsonl');
  writeFileSync(file, 'nonsense\n');
  const { status, stderr } = run(file);
  expect(status).toBe(2);
  expect(stderr).toContain(`${file}:1: not JSON`);
  expect(run()).toMatchObject({ status: 2 });
});

it('sorts events that are a little late, and refuses later ones', () => {
  const events = parseHistory(OVERLAP);
  const shuffled = [...events];
  for (let at = 0; at + 3 < shuffled.length; at += 4) {
    const [one, other] = [shuffled[at], shuffled[at + 3]] as [HistoryEvent, HistoryEvent];
    [shuffled[at], shuffled[at + 3]] = [other, one];
  }
  expect([...inOrder([shuffled], 4)].map(({ t }) => t)).toEqual(events.map(({ t }) => t));
  expect(() => [...inOrder([[...events].reverse()], 2)]).toThrow('more than 2 lines late');
});

it('finds the same violations in batches as in the whole history', () => {
  const events = [...generate(5000)];
  expect(violations(events, ALL)).toEqual([]);
  // the belief in one lease in the middle is extended to the end of its successor's lease
  const at = events.findIndex(({ e, t }) => e === 'release' && t > 200);
  const { k, a, p, t } = events[at] as HistoryEvent & { k: string; a: string };
  const freed = events.findIndex((each) => each.e === 'released' && each.a === a);
  const later = events.findIndex((each, index) => index > at && each.e === 'hold' && each.k === k);
  const kept = events.filter((_, index) => index !== at && index !== freed);
  kept.splice(later - 1, 0, { t, p, e: 'hold', k, a }, { t, p, e: 'lost', k, a });
  expect(violations(kept, ALL).map(({ check }) => check)).toEqual(['exclusion']);
});
