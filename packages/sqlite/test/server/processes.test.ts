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
  readonly claimWindow?: number;
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
  for (const one of workers) {
    expect(await one.exited, one.output).toEqual({ code: 0, signal: null });
  }
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
  const terms = { file: folder.file(), log: newLog(), ttl: 3000, turns: 1_000_000 };
  const others = [1, 2].map(() => started(terms));
  // they end only with an error
  const ends = others.map(async (one) => {
    await one.exited;
    throw new Error(one.output);
  });
  for (const end of ends) void end.catch(() => undefined);
  const killed = new Set<number>();
  for (const lastTurn of [1, 2]) {
    const one = started({ ...terms, lastTurn });
    expect(await one.exited, one.output).toMatchObject({ signal: 'SIGKILL' });
    killed.add(one.pid);
    const count = linesOf(terms.log).length;
    const going = until(() => linesOf(terms.log).length > count + 4);
    await Promise.race([going, ...ends]);
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

it('a waiter that is killed is skipped: the next one gets the lock at once', async () => {
  const file = folder.file();
  const [holder, next] = [folder.instance(file), folder.instance(file)];
  const lease = await holder.mutex('turns').acquire();
  const queued = async (count: number): Promise<void> => {
    await until(async () => (await holder.inspect('turns'))?.waiterCount === count);
  };
  const killed = started({ file, log: newLog(), tasks: 1, ttl: 30_000, claimWindow: 20_000 });
  await queued(1);
  // a waiter without a channel is found by its silence only; a holder gets one after a while
  const register = folder.register(file);
  const waiters = async (): Promise<string | undefined> =>
    /"waiters":.*/.exec((await register.read('holdfast:lock:turns')).state)?.[0];
  await until(async () => (await waiters())?.includes('wake:'));
  const waiting = next.mutex('turns').acquire({ wait: 18_000 });
  await queued(2);
  killed.kill();
  await killed.exited;
  await lease.release();
  await (await waiting).release();
});
