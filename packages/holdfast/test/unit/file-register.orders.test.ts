/**
 * The worked example of docs/register.md, in every order of its calls of the file system: a process
 * may pause between two calls for as long as others need, and may be killed there.
 */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { FileRegister } from '../../../../examples/src/stores/file-register.js';
import type { Register, RegisterError, Swapped } from '../../src/register.js';
import { inEveryOrder, type Run } from '../support/orders.js';
import {
  type Call,
  isExplained,
  type Read,
  type Swap,
  type Sweep,
} from '../support/small-history.js';

const KEY = 'key';
const LATE = 1e16;
/** States that may be forgotten begin so. */
const OLD = 'old';
const NONE = 'none';
const rules = { none: NONE, isForgotten: (state: string) => state.startsWith(OLD) };
const OPEN = { began: 0, ended: Infinity };

type Make = (root: string) => FileRegister;

/** What the tasks do. Each call is that of another process. */
class Work {
  readonly calls: Call[] = [];
  readonly #run: Run;
  /** Makes the register of another process. */
  readonly #make: () => FileRegister;

  constructor(run: Run, make: () => FileRegister) {
    this.#run = run;
    this.#make = make;
  }

  readonly read = async (): Promise<string> => {
    const call = this.#begin<Read>({ op: 'read', ...OPEN });
    call.answer = await this.#make().read(KEY);
    call.ended = this.#run.now();
    return call.answer.version;
  };

  /** Returns the new version, or `undefined` if it lost. */
  readonly swap = async (from: string, state: string): Promise<string | undefined> => {
    const call = this.#begin<Swap>({ op: 'swap', from, state, ...OPEN });
    const forgetAt = rules.isForgotten(state) ? 1 : LATE;
    try {
      call.answer = await this.#make().swap(KEY, from, { state, forgetAt, messages: [] });
    } catch (error) {
      // a sweep took what it had prepared; it changed nothing
      if ((error as RegisterError).kind !== 'transient') throw error;
      this.calls.splice(this.calls.indexOf(call), 1);
      return undefined;
    }
    call.ended = this.#run.now();
    return call.answer === false ? undefined : call.answer.version;
  };

  /** As a program does: it reads, and swaps. */
  readonly change = async (state: string): Promise<string | undefined> => {
    return this.swap(await this.read(), state);
  };

  readonly sweep = async (): Promise<void> => {
    const call = this.#begin<Sweep>({ op: 'sweep', ...OPEN });
    await this.#make().sweep();
    call.ended = this.#run.now();
  };

  #begin<T extends Call>(call: T): T {
    this.#run.begins(() => {
      call.began = this.#run.now();
      this.calls.push(call);
    });
    return call;
  }
}

/** The state of the key, and the tasks, which may know its version. */
type Situation = readonly [
  state: string | undefined,
  tasks: (work: Work, version: string) => readonly (() => Promise<unknown>)[],
];

const SITUATIONS: Readonly<Record<string, Situation>> = {
  'two swaps of one version': [
    'first',
    ({ swap }, version) => [() => swap(version, 'a'), () => swap(version, 'b')],
  ],
  'a swap, and two of another process': [
    'first',
    ({ swap }, version) => [
      () => swap(version, 'a'),
      async () => {
        const next = await swap(version, 'b');
        if (next !== undefined) await swap(next, 'c');
      },
    ],
  ],
  'two that read and swap': ['first', ({ change }) => [() => change('a'), () => change('b')]],
  'a reader, and two swaps': [
    'first',
    ({ read, swap }, version) => [
      () => read(),
      async () => {
        await swap((await swap(version, 'a')) as string, 'b');
      },
    ],
  ],
  'two first swaps': [undefined, ({ swap }) => [() => swap(NONE, 'a'), () => swap(NONE, 'b')]],
  'a reader, and a first swap': [
    undefined,
    ({ read, change }) => [() => read(), () => change('a')],
  ],
  'a swap, and a sweep of a state that may be forgotten': [
    OLD,
    ({ swap, sweep }, version) => [() => swap(version, 'a'), () => sweep()],
  ],
  'a swap, and a sweep after which the key is used again': [
    OLD,
    ({ swap, sweep, change }, version) => [
      () => swap(version, 'a'),
      async () => {
        await sweep();
        await change('b');
      },
    ],
  ],
  'a sweep, and a key that is used again': [
    OLD,
    ({ sweep, change }) => [() => sweep(), () => change('a')],
  ],
  'a first swap, and a sweep': [
    undefined,
    ({ swap, sweep }) => [() => swap(NONE, 'a'), () => sweep()],
  ],
};

/** Thousands of folders are made and removed: in memory, if the system has a place for that. */
const place = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

const roots: string[] = [];
afterEach(async () => {
  for (const root of roots.splice(0)) await rm(root, { recursive: true, force: true });
});

function explore([start, scene]: Situation, make: Make): Promise<number> {
  return inEveryOrder(async (run) => {
    const root = await mkdtemp(join(place, 'holdfast-orders-'));
    roots.push(root);
    const work = new Work(run, () => make(root));
    const version = start === undefined ? NONE : await work.change(start);
    for (const task of scene(work, version as string)) run.start(task);
    return async () => {
      expect(await work.change('last')).toBeDefined();
      await work.read();
      const seen = JSON.stringify(work.calls, null, 1);
      expect(isExplained(work.calls, { version: NONE, state: '' }, rules), seen).toBe(true);
      await expectTidy(root);
    };
  });
}

/** The last swap left its own file, and a sweep takes the rest. */
async function expectTidy(root: string): Promise<void> {
  await new FileRegister(root).sweep();
  const [home = ''] = await readdir(join(root, 'keys'));
  const [version = '', ...others] = await readdir(join(root, 'keys', home));
  expect(others).toEqual([]);
  expect(await readdir(join(root, 'keys', home, version))).toEqual([version]);
  for (const name of ['new', 'trash']) expect(await readdir(join(root, name))).toEqual([]);
}

it.each(Object.entries(SITUATIONS))('%s', async (_, situation) => {
  expect(await explore(situation, (root) => new FileRegister(root))).toBeGreaterThan(4);
});

it('docs/register.md shows parts of it', () => {
  const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
  const page = read('../../../../docs/register.md');
  const code = read('../../../../examples/src/stores/file-register.ts');
  const blocks = [...page.matchAll(/```ts\n([^]*?)```/g)].map(([, block = '']) => block);
  const parts = blocks.filter((block) => !block.includes('import '));
  expect(parts).toHaveLength(3);
  for (const part of parts) expect(code).toContain(part);
});

it('control: an order is found in which a register that compares too early fails', async () => {
  class Careless extends FileRegister {
    override async swap(...[key, version, change]: Parameters<Register['swap']>): Promise<Swapped> {
      let found = await this.read(key);
      if (found.version !== version) return false;
      for (;;) {
        const swapped = await super.swap(key, found.version, change);
        if (swapped !== false) return swapped;
        found = await this.read(key);
      }
    }
  }
  const situation = SITUATIONS['two swaps of one version'] as Situation;
  await expect(explore(situation, (root) => new Careless(root))).rejects.toThrow(/"swap"/);
});
