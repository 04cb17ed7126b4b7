/** The store on a register: proposals, lost races, unknown outcomes, bounds, times. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Acquire, Command, Reply } from '../../../src/engine/commands.js';
import { Holdfast } from '../../../src/index.js';
import { Proposals } from '../../../src/store/register/proposals.js';
import { StoreFailure, UnreadableRecord } from '../../../src/store/port.js';
import { atCommit } from '../../../src/store/register/commit-time.js';
import { MemoryRegister } from '../../../src/store/register/memory-register.js';
import type { Change, Swapped, Versioned } from '../../../src/store/register/register.js';
import { RegisterStore } from '../../../src/store/register/register-store.js';
import { asking } from '../../support/crowds.js';
import { VirtualClock } from '../../support/virtual-clock.js';

/** Counts calls. A hook runs before each of them and may delay it or make it fail. */
class Watched extends MemoryRegister {
  reads = 0;
  swaps = 0;
  readonly changes: Change[] = [];
  before: (call: 'read' | 'swap') => Promise<void> | void = () => undefined;
  after: (call: 'read' | 'swap') => Promise<void> | void = () => undefined;

  override async read(key: string): Promise<Versioned> {
    this.reads += 1;
    await this.before('read');
    const result = await super.read(key);
    await this.after('read');
    return result;
  }

  override async swap(key: string, version: string, change: Change): Promise<Swapped> {
    this.swaps += 1;
    this.changes.push(change);
    await this.before('swap');
    const result = await super.swap(key, version, change);
    await this.after('swap');
    return result;
  }
}

type Pair = [Holdfast, Holdfast];
const mutex = { key: 'k', capacity: 1, retention: 60_000 };
const release = (id: string): Command => ({
  op: 'release',
  key: 'k',
  id,
  retention: 60_000,
});
const renew = (id: string, ttl: number, key = 'k'): Command => {
  return { op: 'renew', key, id, ttl, retention: 60_000 };
};

let clock: VirtualClock;
let register: Watched;
let one: RegisterStore;
let other: RegisterStore;

beforeEach(() => {
  clock = new VirtualClock();
  register = new Watched(clock);
  one = new RegisterStore(register, { clock, fraction: () => 0.5 });
  other = new RegisterStore(register, { clock, fraction: () => 0.5 });
});

/** Executes commands; time passes until all are answered. */
async function answers(store: RegisterStore, ...commands: Command[]): Promise<Reply[]> {
  return clock.until(Promise.all(store.execute(commands)));
}

async function statuses(store: RegisterStore, ...commands: Command[]): Promise<string[]> {
  return (await answers(store, ...commands)).map(({ status }) => status);
}

describe('a proposal', () => {
  it('carries all commands of one turn: one read and one swap', async () => {
    const given = [asking('a', mutex), asking('b', mutex), release('a')];
    expect(await statuses(one, ...given)).toEqual(['granted', 'queued', 'freed']);
    expect([register.reads, register.swaps]).toEqual([1, 1]);
  });

  it('needs no read if this process changed the key last', async () => {
    await answers(one, asking('a', mutex));
    await answers(one, release('a'));
    await answers(one, asking('b', mutex));
    expect([register.reads, register.swaps]).toEqual([1, 3]);
  });

  it('that changes nothing swaps nothing, and does not answer from a kept state', async () => {
    const inspect = { op: 'inspect', key: 'k', limit: 10 } as const;
    await answers(one, asking('a', mutex));
    await answers(other, release('a'), asking('b', mutex));
    const swaps = register.swaps;
    const [info] = await answers(one, inspect);
    expect(info).toMatchObject({ holders: [{ id: 'b' }] });
    expect(register.swaps).toBe(swaps);
  });

  it('answers no command from a read that began before the command came', async () => {
    const inspect = { op: 'inspect', key: 'k', limit: 10 } as const;
    let answer: () => void = () => undefined;
    const slow = new Promise<void>((resolve) => (answer = resolve));
    register.after = (call) => (call === 'read' && register.reads === 1 ? slow : undefined);
    const early = answers(one, inspect);
    await clock.advance(1);
    // this read is over, and its answer is under way
    await answers(other, asking('a', mutex));
    const late = answers(one, renew('a', 20_000));
    await clock.advance(1);
    answer();
    expect(await early).toMatchObject([{ status: 'inspected', holders: [] }]);
    expect(await late).toMatchObject([{ status: 'renewed' }]);
  });

  it('refuses no call by a read that began before the lock was released', async () => {
    const [mine, theirs] = [one, other].map((store) => new Holdfast(store, { clock })) as Pair;
    const lease = await clock.until(theirs.mutex('k').acquire());
    let answer: () => void = () => undefined;
    const slow = new Promise<void>((resolve) => (answer = resolve));
    const { reads } = register;
    register.after = (call) => (call === 'read' && register.reads === reads + 1 ? slow : undefined);
    const refused = mine.mutex('k').tryAcquire();
    await clock.advance(1);
    // the read has found the lock taken, and its answer is under way
    await clock.until(lease.release());
    const granted = mine.mutex('k').tryAcquire();
    await clock.advance(1);
    answer();
    expect(await clock.until(refused)).toBeNull();
    expect(await clock.until(granted)).toMatchObject({ held: true });
    await clock.until(Promise.all([mine, theirs].map((each) => each.close({ grace: 0 }))));
  });

  it('reads a kept state again after five seconds, because its time is an estimate', async () => {
    await answers(one, asking('a', mutex));
    await clock.advance(5000);
    await answers(one, release('a'));
    expect(register.reads).toBe(2);
  });

  it('renews a lease on a state that was kept for less than its length', async () => {
    await answers(one, asking('a', { ...mutex, ttl: 20_000 }));
    await clock.advance(11_000);
    const [renewed] = await answers(one, renew('a', 20_000));
    expect(register.reads).toBe(1);
    // the estimated time is at most 1 % of 11 s behind
    const { status, left } = renewed as { status: string; left: number };
    expect(status).toBe('renewed');
    expect(left).toBeLessThanOrEqual(20_000_000);
    expect(left).toBeGreaterThan(19_800_000);
    await clock.advance(20_000);
    expect(await statuses(one, renew('a', 20_000))).toEqual(['absent']);
    expect(register.reads).toBe(2);
  });

  it('control: another process ended the lease meanwhile, and the renewal finds it', async () => {
    await answers(one, asking('a', { ...mutex, ttl: 20_000 }));
    await clock.advance(11_000);
    await answers(other, { op: 'forceRelease', key: 'k', id: '', retention: 60_000 });
    expect(await statuses(one, renew('a', 20_000))).toEqual(['absent']);
  });
});

describe('a lost race', () => {
  it('repeats the commands on the new state', async () => {
    await answers(one, asking('a', mutex));
    await answers(other, asking('b', mutex));
    expect(await statuses(one, release('a'))).toEqual(['freed']);
    // the kept state was out of date, so the first swap failed
    expect(register.swaps).toBe(4);
    const standing = { op: 'poll', key: 'k', ids: ['b'], patience: 0, retention: 60_000 } as const;
    const [reply] = await answers(other, standing);
    expect(reply).toMatchObject({ standings: [{ status: 'granted' }] });
  });

  it('ends as a failure after a hundred times', async () => {
    let race = 0;
    register.before = async (call) => {
      if (call !== 'swap' || race >= 1000) return;
      race += 1;
      register.before = () => undefined;
      await new RegisterStore(register, { clock }).execute([asking(`x${race}`, mutex)])[0];
      register.before = hook;
    };
    const hook = register.before;
    await expect(answers(one, asking('a', mutex))).rejects.toThrow('100 times in a row');
  });

  it('is won soon by a release, and later by newcomers', async () => {
    const pauses: number[] = [];
    const after = clock.after.bind(clock);
    clock.after = (ms, callback, weak) => {
      pauses.push(ms);
      return after(ms, callback, weak);
    };
    await answers(one, asking('a', mutex));
    await answers(other, asking('b', mutex));
    await answers(one, release('a'));
    await answers(other, asking('c', mutex));
    expect(pauses).toEqual([0.5, 2]);
  });
});

describe('an outcome that is unknown', () => {
  it('is an unanswered request, and its repetition changes nothing', async () => {
    register.after = (call) => {
      if (call === 'swap') throw new Error('connection lost');
    };
    const failed = answers(one, asking('a', mutex));
    await expect(failed).rejects.toMatchObject({ name: 'StoreFailure', kind: 'unanswered' });
    register.after = () => undefined;
    expect(await statuses(one, asking('a', mutex))).toEqual(['granted']);
    expect(await statuses(other, asking('b', mutex))).toEqual(['queued']);
  });

  it('does not stop later commands', async () => {
    register.before = () => {
      throw new Error('down');
    };
    const failed = answers(one, asking('a', mutex));
    await expect(failed).rejects.toBeInstanceOf(StoreFailure);
    register.before = () => undefined;
    expect(await statuses(one, asking('a', mutex))).toEqual(['granted']);
  });
});

describe('a state', () => {
  it('that would be too long refuses newcomers, and still serves everyone else', async () => {
    const small = new RegisterStore(register, { clock, stateMax: 1000 });
    const crowd = Array.from({ length: 40 }, (_, at) => asking(`w${at}`, mutex));
    const all = Promise.allSettled(small.execute(crowd));
    await clock.advance(100);
    const settled = await all;
    const refused = settled.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(15);
    for (const result of refused) {
      expect(result).toMatchObject({ reason: { name: 'StoreFailure', kind: 'refused' } });
      expect(String((result as PromiseRejectedResult).reason)).toContain('1000 characters');
    }
    const longest = Math.max(...register.changes.map(({ state }) => state.length));
    expect(longest).toBeLessThan(1100);
    expect(await statuses(small, release('w0'), asking('w1', mutex))).toEqual(['freed', 'granted']);
  });

  it('of an unknown version is refused, and stays as it is', async () => {
    const state = '2 17 {"lock":{}}';
    const name = 'holdfast:lock:k';
    await register.swap(name, '0', { state, forgetAt: 1e16, messages: [] });
    await expect(answers(one, asking('a', mutex))).rejects.toBeInstanceOf(UnreadableRecord);
    expect((await register.read(name)).state).toBe(state);
  });

  it('has a key without U+0000, and each key has a state of its own', async () => {
    const keys = ['k', '\0', '\u001e', '\u001e0', '\u001e1', 'a\0\u001e', '\0\0'];
    for (const key of keys) {
      expect(await statuses(one, asking(key, { ...mutex, key }))).toEqual(['granted']);
    }
    const listed: string[] = [];
    for await (const key of one.keys('*', (answer) => answer)) listed.push(key);
    expect(listed.sort()).toEqual(keys.sort());
    for await (const { key } of register.scan('')) expect(key).not.toContain('\0');
  });

  it('is forgotten after the retention', async () => {
    await answers(one, asking('a', mutex));
    await answers(one, release('a'));
    expect(register.size).toBe(1);
    await clock.advance(61_000);
    expect(register.size).toBe(0);
  });
});

describe('time', () => {
  it('that a slow swap takes is not promised to the holder', async () => {
    register.before = async (call) => {
      if (call === 'swap') clock.stall(400);
    };
    const [reply] = await answers(one, { ...asking('a', mutex), ttl: 1000 });
    expect(reply).toMatchObject({ status: 'granted', left: 600_000 });
  });

  it('control: the engine promises it', () => {
    const reply = { status: 'renewed', now: 1000, left: 900_000 } as const;
    expect(atCommit(reply, 1000)).toBe(reply);
    expect(atCommit(reply, 401_000)).toEqual({ status: 'renewed', now: 401_000, left: 500_000 });
  });

  it('of a register that is set back does not end leases early, and fences grow', async () => {
    const [first] = await answers(one, asking('a', mutex));
    clock.stall(-500);
    const [, second] = await answers(other, release('a'), asking('b', mutex));
    expect(second).toMatchObject({ status: 'granted' });
    const fences = [first, second].map((reply) => (reply as { fence?: number }).fence ?? 0);
    expect(fences[1]).toBeGreaterThan(fences[0] as number);
  });
});

it('locks and gates of the same key have separate states, and only locks are listed', async () => {
  const watch = { op: 'watch', key: 'k', kind: 'latch', count: 2, generation: 0, ids: [] } as const;
  const terms = { ttl: 1000, channel: '', token: '', retention: 60_000 };
  await answers(one, asking('a', mutex), { ...watch, ...terms });
  const keys: string[] = [];
  for await (const key of one.keys('*', (answer) => answer)) keys.push(key);
  expect(keys).toEqual(['k']);
  expect(register.size).toBe(2);
});

describe('the prefix', () => {
  it('of a Holdfast is used without an option of the store', async () => {
    const named = new Holdfast(one, { prefix: 'app:', clock });
    const plain = new Holdfast(one, { clock });
    const held = named.mutex('k').tryAcquire();
    const free = plain.mutex('k').tryAcquire();
    await clock.advance(100);
    expect([(await held)?.held, (await free)?.held]).toEqual([true, true]);
    const names: string[] = [];
    for await (const { key } of register.scan('')) names.push(key);
    expect(names.sort()).toEqual(['app:lock:k', 'holdfast:lock:k']);
    const closing = Promise.all([named.close({ grace: 0 }), plain.close({ grace: 0 })]);
    await clock.advance(10_000);
    await closing;
  });
});

describe('more than a thousand keys', () => {
  const named = (count: number, ttl: number): Acquire[] =>
    Array.from({ length: count }, (_, at) => asking('a', { ...mutex, key: `k${at}`, ttl }));

  it('cost a few looks a command', async () => {
    const looks = vi.spyOn(Proposals.prototype, 'mayBeDropped');
    const all = one.execute(named(1200, 1000));
    // the first 1,000 need no look
    expect(looks.mock.calls.length).toBeLessThanOrEqual(200 * 4);
    looks.mockRestore();
    await clock.advance(100);
    await Promise.all(all);
  });

  it('with leases of this process are all kept, and their renewals read nothing', async () => {
    const keys = named(5000, 20_000);
    await answers(one, ...keys);
    await clock.advance(11_000);
    register.reads = 0;
    await answers(one, ...keys.map(({ key }) => renew('a', 20_000, key)));
    await clock.advance(11_000);
    await answers(one, ...keys.map(({ key }) => renew('a', 20_000, key)));
    expect(register.reads).toBe(0);
  });

  it('whose leases have ended are dropped', async () => {
    const keys = named(5000, 20_000);
    const again = async (): Promise<number> => {
      register.reads = 0;
      await answers(one, ...keys.map(({ key }) => ({ ...release('a'), key })));
      return register.reads;
    };
    await answers(one, ...keys);
    expect(await again()).toBe(0);
    // the commands on free locks drop all but about a thousand
    await again();
    expect(await again()).toBeGreaterThan(3000);
  });

  it('with leases are not all kept if they are too many', async () => {
    const keys = named(20_500, 20_000);
    await answers(one, ...keys);
    register.reads = 0;
    await answers(
      one,
      ...keys.filter((_, at) => at % 10 === 0).map(({ key }) => renew('a', 20_000, key)),
    );
    expect(register.reads).toBeGreaterThan(0);
  });
});
