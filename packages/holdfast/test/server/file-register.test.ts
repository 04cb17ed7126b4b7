/** The worked example of docs/register.md, a register in files, with real processes. */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { paced, spawnWorker, until, type Worker } from 'holdfast-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FileRegister } from '../../../../examples/src/stores/file-register.js';
import { registerCases } from '../../src/register-contract.js';

const script = new URL('../children/counts.mjs', import.meta.url);
let folder: string;
let folders = 0;
const newFolder = (): string => join(folder, `${(folders += 1)}`);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-files-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('keeps the contract of registers', () => {
  for (const one of registerCases) it(one.name, () => one.run(() => new FileRegister(folder)));
});

/** Processes that count in one file. */
class Crowd implements AsyncDisposable {
  readonly root: string = newFolder();
  readonly killed = new Set<number>();
  readonly #number = `${this.root}-number`;
  readonly #log = `${this.root}-log`;
  readonly #workers: Worker[] = [];

  constructor() {
    writeFileSync(this.#number, '0');
    writeFileSync(this.#log, '');
  }

  start(terms: { root?: string; lastTurn?: number } = {}): Worker {
    const shared = { root: this.root, number: this.#number, log: this.#log, ttl: paced(3000) };
    const worker = spawnWorker(script, { args: [JSON.stringify({ ...shared, ...terms })] });
    this.#workers.push(worker);
    return worker;
  }

  async kill(worker: Worker): Promise<void> {
    worker.kill();
    await this.died(worker);
  }

  async died(worker: Worker): Promise<void> {
    expect(await worker.exited, worker.output).toMatchObject({ signal: 'SIGKILL' });
    this.killed.add(worker.pid);
  }

  /** Resolves after so many more turns, begun by processes that live. */
  async turns(count: number): Promise<void> {
    const before = this.lines.length;
    const begun = (): number => this.lines.slice(before).filter(([what]) => what === 'in').length;
    await until(() => begun() >= count || this.faults.size > 0);
  }

  /** Ends the processes that live, each after its turn. */
  async end(): Promise<void> {
    const living = this.#workers.filter(({ pid }) => !this.killed.has(pid));
    // a process that has ended by itself has no channel; its output says why
    for (const one of living) await one.send({ type: 'end' }).catch(() => undefined);
    for (const one of living) expect(await one.exited, one.output).toMatchObject({ code: 0 });
  }

  get number(): number {
    return Number(readFileSync(this.#number, 'utf8'));
  }

  get lines(): [what: string, fence: number, pid: number][] {
    const lines = readFileSync(this.#log, 'utf8').trim().split('\n');
    return lines.map((line) => {
      const [what = '', fence, pid] = line.split(' ');
      return [what, Number(fence), Number(pid)];
    });
  }

  /** What the log shows. A process that was killed leaves a turn without an end. */
  get faults(): Set<string> {
    const faults = new Set<string>();
    let inside: { fence: number; pid: number } | undefined;
    let last = 0;
    for (const [what, fence, pid] of this.lines) {
      if (what === 'in') {
        if (inside !== undefined && !this.killed.has(inside.pid)) faults.add('overlap');
        if (fence <= last) faults.add('fence');
        last = fence;
        inside = { fence, pid };
      } else if (what === 'out') {
        if (inside?.fence !== fence || inside.pid !== pid) faults.add('overlap');
        inside = undefined;
      }
    }
    return faults;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#workers.map((one) => one[Symbol.asyncDispose]()));
  }
}

it('processes count without a gap, also if some of them are killed', async () => {
  await using crowd = new Crowd();
  const workers = [1, 2, 3].map(() => crowd.start());
  await crowd.turns(20);
  // one inside of its turn, one wherever it is
  await crowd.died(crowd.start({ lastTurn: 2 }));
  await crowd.turns(10);
  await crowd.kill(workers[0] as Worker);
  crowd.start();
  await crowd.turns(20);
  await crowd.end();
  expect(crowd.faults).toEqual(new Set());
  const outs = crowd.lines.filter(([what]) => what === 'out');
  // each process had turns, and the lock went from one to the other
  expect(new Set(outs.map(([, , pid]) => pid)).size).toBe(5);
  // a killed process may have counted, and not have said so
  expect(crowd.number).toBeGreaterThanOrEqual(outs.length);
  expect(crowd.number).toBeLessThanOrEqual(outs.length + crowd.killed.size);
});

it('control: processes with a folder each work at the same time', async () => {
  await using crowd = new Crowd();
  for (let at = 0; at < 3; at++) crowd.start({ root: newFolder() });
  await until(() => crowd.faults.size === 2);
});

it('a sweep removes what killed processes left, and states that may be forgotten', async () => {
  const root = newFolder();
  const files = new FileRegister(root);
  const { version } = await files.read('old');
  await files.swap('old', version, { state: 'text', forgetAt: 1, messages: [] });
  for (const name of ['new', 'trash']) writeFileSync(join(root, name, 'left'), 'text');
  await files.sweep();
  // the second one finds the folder of the key empty
  await files.sweep();
  for (const name of ['keys', 'new', 'trash']) expect(readdirSync(join(root, name))).toEqual([]);
});

it('a folder without the right to write is refused, and one that is gone is not', async () => {
  const root = newFolder();
  const files = new FileRegister(root);
  const change = { state: 'text', forgetAt: 1, messages: [] };
  chmodSync(join(root, 'new'), 0o500);
  const isRoot = process.geteuid?.() === 0;
  // rights do not bind this user
  if (isRoot) process.seteuid?.(65_534);
  try {
    const swapped = files.swap('a', 'none', change);
    await expect(swapped).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('EACCES'),
    });
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
  rmSync(root, { recursive: true });
  await expect(files.swap('a', 'none', change)).rejects.toMatchObject({ kind: 'transient' });
});
