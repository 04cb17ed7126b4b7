/** Real processes on one file, also killed ones. */
import { readFileSync, writeFileSync } from 'node:fs';
import { spawnWorker, until, type Worker } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { client, inFolder } from '../support.js';

const folder = inFolder();
const script = new URL('../children/turns.mjs', import.meta.url);

interface Terms {
  readonly file: string;
  readonly log: string;
  readonly tasks?: number;
  readonly turns?: number;
  readonly ttl?: number;
  readonly lastTurn?: number;
}

function started(terms: Terms): Worker {
  const all = { tasks: 2, turns: 15, ttl: 10_000, client, ...terms };
  const worker = spawnWorker(script, { args: [JSON.stringify(all)] });
  folder.later(() => worker[Symbol.asyncDispose]());
  return worker;
}

function newLog(): string {
  const log = folder.file();
  writeFileSync(log, '');
  return log;
}

type Line = [what: string, fence: number, pid: number];

function linesOf(log: string): Line[] {
  const lines = readFileSync(log, 'utf8').trim().split('\n');
  return lines.map((line) => {
    const [what = '', fence, pid] = line.split(' ');
    return [what, Number(fence), Number(pid)];
  });
}

/** The faults in a log. A process that was killed leaves a turn without an end. */
function faultsOf(lines: readonly Line[], killed: ReadonlySet<number> = new Set()): Set<string> {
  const faults = new Set<string>();
  let inside: Line | undefined;
  let last = 0;
  for (const line of lines) {
    const [what, fence, pid] = line;
    if (what === 'in') {
      if (inside !== undefined && !killed.has(inside[2])) faults.add('overlap');
      if (fence <= last) faults.add('fence');
      last = fence;
      inside = line;
    } else {
      if (inside?.[1] !== fence || inside[2] !== pid) faults.add('overlap');
      inside = undefined;
    }
  }
  return faults;
}

it('processes that start at once create the file, and take turns', async () => {
  const terms = { file: folder.file(), log: newLog() };
  const workers = Array.from({ length: 4 }, () => started(terms));
  // a closed instance keeps no process alive
  for (const one of workers) expect(await one.exited).toEqual({ code: 0, signal: null });
  const lines = linesOf(terms.log);
  expect(lines.length).toBe(4 * 2 * 15 * 2);
  expect(faultsOf(lines)).toEqual(new Set());
  // the lock goes from process to process: not one of them after the other
  const moves = lines.filter(([, , pid], at) => at > 0 && pid !== lines[at - 1]?.[2]).length;
  expect(moves).toBeGreaterThan(8);
});

it('negative control: processes with a file each get in at the same time', async () => {
  const log = newLog();
  const workers = [1, 2, 3].map(() => started({ file: folder.file(), log, turns: 100 }));
  await until(() => faultsOf(linesOf(log)).size === 2, { every: 50 });
  for (const one of workers) one.kill();
});

it('a holder that is killed keeps the lock until its lease ends, and not longer', async () => {
  const terms = { file: folder.file(), log: newLog(), ttl: 500, turns: 1_000_000 };
  const others = [1, 2].map(() => started(terms));
  const killed = new Set<number>();
  for (const lastTurn of [2, 3, 4]) {
    const one = started({ ...terms, lastTurn });
    expect(await one.exited).toMatchObject({ signal: 'SIGKILL' });
    killed.add(one.pid);
    const count = linesOf(terms.log).length;
    await until(() => linesOf(terms.log).length > count + 4);
  }
  for (const one of others) one.kill();
  await Promise.all(others.map((one) => one.exited));
  const lines = linesOf(terms.log);
  expect(faultsOf(lines, killed)).toEqual(new Set());
  // the file is whole: a new process goes on, above all fences
  const holdfast = folder.instance(terms.file);
  const lease = await holdfast.mutex('turns').acquire();
  expect(lease.fence).toBeGreaterThan(Math.max(...lines.map(([, fence]) => fence)));
  await lease.release();
});
