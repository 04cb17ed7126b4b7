/**
 * The bench itself, at its smallest size, on a real server and without the npm registry. Two
 * planted libraries are the negative controls: one lets two holders in, one stops answering.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { paced } from 'holdfast-testkit';
import { afterAll, expect, it } from 'vitest';
import type { Result, Row, Table } from '../src/results.js';
import type { ScaleResult } from '../src/scale/scale.js';
import { SCENARIOS } from '../src/settings.js';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const LIMIT_MS = paced(600_000);
/** A line of the bench about a library of ours that failed. */
const BROKEN = /^broken: /;

const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
afterAll(() => rmSync(folder, { recursive: true }));

const run = promisify(execFile);

async function bench(...words: string[]): Promise<{ result: Result; output: string }> {
  const file = join(folder, `${words.join('')}.json`);
  const args = [MAIN, '--quick', '--no-peers', '--json', file, ...words];
  const { stdout } = await run(process.execPath, args, { timeout: LIMIT_MS }).catch(
    ({ message, stdout: text }: Error & { stdout: string }) => {
      throw new Error(
        [message, ...text.split('\n').filter((line) => BROKEN.test(line))].join('\n'),
      );
    },
  );
  return { result: JSON.parse(readFileSync(file, 'utf8')) as Result, output: stdout };
}

const rowOf = (table: Table | undefined, name: string): Row | undefined =>
  table?.rows.find(({ variant }) => variant.name === name);

// These three run beside each other: the second one sleeps for minutes. None asserts a speed.
it.concurrent('measures every scenario, and Holdfast is sound in each', {
  timeout: LIMIT_MS,
}, async () => {
  const { result } = await bench();
  const measured = new Set(result.tables.map(({ scenario }) => scenario));
  expect([...measured]).toEqual(SCENARIOS);
  for (const { scenario, rows, main } of result.tables) {
    const ours = rows.filter(({ variant }) => variant.kind === 'ours');
    expect(ours.length, scenario).toBeGreaterThan(0);
    for (const row of ours) {
      const where = `${scenario}: ${row.variant.name}: ${row.note ?? ''}`;
      expect(row.state, where).toBe('ok');
      expect(row.figures[main]?.median, where).toSatisfy(Number.isFinite);
    }
  }
});

it.concurrent('measures what each thing costs one server', { timeout: LIMIT_MS }, async () => {
  const file = join(folder, 'scale.json');
  const args = [MAIN, '--scale', '--quick', '--store', 'one', '--json', file];
  await run(process.execPath, args, { timeout: LIMIT_MS });
  const { costs, rows } = JSON.parse(readFileSync(file, 'utf8')) as ScaleResult;
  const pair = rows.find(({ at, thing }) => thing === 'pair' && at === 1);
  // the count may begin or end within a pair
  expect(pair?.cost.commands).toBeCloseTo(2, 1);
  expect(pair?.cost.inner).toBeCloseTo(4, 1);
  const things = ['hand-off', 'lease', 'renewal', 'waiter', 'key', 'connection', 'message'];
  things.push('process waiter');
  expect(rows.map(({ thing }) => thing)).toEqual(expect.arrayContaining(things));
  expect(costs.one?.renewedTogether).toBe(500);
});

it.concurrent('measures a part again, and keeps the other rows', {
  timeout: LIMIT_MS,
}, async () => {
  const file = join(folder, 'parts.json');
  const rows = async (part: string): Promise<ScaleResult['rows']> => {
    const args = ['--scale', '--quick', '--store', 'sqlite', '--part', part, '--json', file];
    await run(process.execPath, [MAIN, ...args], { timeout: LIMIT_MS });
    return (JSON.parse(readFileSync(file, 'utf8')) as ScaleResult).rows;
  };
  expect(await rows('local')).toHaveLength(2);
  const again = await rows('paced');
  const things = again.map(({ kind, thing }) => `${kind} ${thing}`);
  expect(things).toEqual(['sqlite local waiter', 'sqlite local hand-off', 'sqlite paced pair']);
  // there is no server, so the processes count
  expect(again[2]?.cost.commands).toBeCloseTo(2, 0);
});

it('shows a library that cheats, and one that hangs', { timeout: LIMIT_MS }, async () => {
  const { result, output } = await bench('--only', 'c', '--plant', 'cheat', '--plant', 'hang');
  for (const table of result.tables) {
    expect(rowOf(table, 'planted cheat')?.state).toBe('violates exclusion');
    expect(rowOf(table, 'planted hang')).toMatchObject({ state: 'failed' });
    expect(rowOf(table, 'planted hang')?.note).toContain('no answer to loops');
    expect(rowOf(table, 'holdfast ioredis-5')?.violations).toBe(0);
  }
  expect(output).toContain('VIOLATES EXCLUSION');
});

it('finds two holders in two processes', { timeout: LIMIT_MS }, async () => {
  const { result } = await bench('--only', 'd', '--plant', 'cheat');
  for (const table of result.tables) {
    expect(rowOf(table, 'planted cheat')?.state).toBe('violates exclusion');
    expect(rowOf(table, 'holdfast ioredis-5')?.state).toBe('ok');
  }
});
