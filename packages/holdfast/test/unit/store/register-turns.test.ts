/** Commands of one turn on many keys: one call of the register. */
import { afterEach, describe, expect, it } from 'vitest';
import { Holdfast } from '../../../src/index.js';
import { MemoryRegister, register, RegisterError, type Swap } from '../../../src/register.js';
import { turnsOf } from '../../../src/store/register/turns.js';

/** Counts the calls, and refuses a key. */
class Counted extends MemoryRegister {
  readonly calls = { read: 0, swap: 0, readMany: 0, swapMany: 0 };
  refused: string | undefined;

  override read(key: string): ReturnType<MemoryRegister['read']> {
    this.calls.read += 1;
    return super.read(key);
  }

  override async swap(...[key, version, change]: Parameters<MemoryRegister['swap']>) {
    this.calls.swap += 1;
    if (key === this.refused) throw new RegisterError('refused', 'this key is refused');
    return super.swap(key, version, change);
  }

  override readMany(keys: readonly string[]): ReturnType<MemoryRegister['readMany']> {
    this.calls.readMany += 1;
    return Promise.all(keys.map((key) => super.read(key)));
  }

  override async swapMany(swaps: readonly Swap[]) {
    this.calls.swapMany += 1;
    if (swaps.some(({ key }) => key === this.refused)) {
      throw new RegisterError('refused', 'one key is refused');
    }
    return Promise.all(swaps.map(({ key, version, change }) => super.swap(key, version, change)));
  }

  /** The calls since the last time. */
  take(): Counted['calls'] {
    const taken = { ...this.calls };
    Object.assign(this.calls, { read: 0, swap: 0, readMany: 0, swapMany: 0 });
    return taken;
  }
}

const made: Holdfast[] = [];
afterEach(async () => {
  for (const one of made.splice(0)) await one.close({ grace: 0 });
});
const instanceOn = (port: MemoryRegister): Holdfast => {
  const instance = new Holdfast(register(port));
  made.push(instance);
  return instance;
};
const keys = (count: number): string[] => Array.from({ length: count }, (_, at) => `k${at}`);

describe('commands of one turn', () => {
  it.each([
    [300, 1],
    [1200, 3],
  ])('on %i keys are %i calls of readMany and of swapMany', async (count, calls) => {
    const port = new Counted();
    const holdfast = instanceOn(port);
    const leases = await Promise.all(keys(count).map((key) => holdfast.mutex(key).acquire()));
    expect(port.take()).toEqual({ read: 0, swap: 0, readMany: calls, swapMany: calls });
    await Promise.all(leases.map((lease) => lease.release()));
    const { read, swap, swapMany } = port.take();
    expect({ read, swap }).toEqual({ read: 0, swap: 0 });
    expect(swapMany).toBeLessThanOrEqual(2 * calls);
  });

  it('on one key are single calls', async () => {
    const port = new Counted();
    const holdfast = instanceOn(port);
    await (await holdfast.mutex('k').acquire()).release();
    expect(port.take()).toEqual({ read: 1, swap: 2, readMany: 0, swapMany: 0 });
  });

  it('one that is refused keeps the others from nothing', async () => {
    const port = new Counted();
    port.refused = 'holdfast:lock:k1';
    const holdfast = instanceOn(port);
    const results = await Promise.allSettled(
      keys(3).map((key) => holdfast.mutex(key).acquire({ wait: 0 })),
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: 'HOLDFAST_REFUSED' } });
  });

  it('an answer for too few keys is no answer', async () => {
    const port = new Counted();
    port.readMany = async () => [];
    const { read } = turnsOf(port);
    const results = await Promise.allSettled([read('a'), read('b')]);
    const failed = {
      reason: { kind: 'unanswered', message: expect.stringContaining('each of 2 keys') },
    };
    for (const one of results) expect(one).toMatchObject({ status: 'rejected', ...failed });
  });
});
