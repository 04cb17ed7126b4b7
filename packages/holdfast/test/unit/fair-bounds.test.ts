/** Fair groups on a register that knows its clock by bounds. In virtual time. */
import { expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';
import { MemoryRegister } from '../../src/store/register/memory-register.js';
import type { Change, Swapped, Versioned } from '../../src/store/register/register.js';
import { RegisterStore } from '../../src/store/register/register-store.js';
import { OPTIONS } from '../support/root-world.js';
import { VirtualClock } from '../support/virtual-clock.js';

/** By how much each bound is wrong, in microseconds. */
const WIDE = 30_000;

class Bounded extends MemoryRegister {
  override async read(key: string): Promise<Versioned> {
    const read = await super.read(key);
    return { ...read, time: read.time - WIDE, latest: read.time + WIDE };
  }

  override async swap(key: string, version: string, change: Change): Promise<Swapped> {
    const swapped = await super.swap(key, version, change);
    return swapped && { ...swapped, time: swapped.time - WIDE, latest: swapped.time + WIDE };
  }
}

it.each([
  ['a clock that is known', MemoryRegister],
  ['a clock that is known by bounds', Bounded],
])('with %s, the tasks of a step come before a later one of another process', async (_, Kind) => {
  const clock = new VirtualClock();
  const register = new Kind(clock);
  const [one, other] = [0, 1].map(
    () => new Holdfast(new RegisterStore(register, { clock }), { ...OPTIONS, clock }),
  ) as [Holdfast, Holdfast];
  const order: string[] = [];
  const task = (holdfast: Holdfast, name: string): Promise<void> =>
    holdfast.mutex('k', { fair: true }).run(async (lease) => {
      order.push(name);
      // the others are granted together when the first one ends
      if (order.length === 1) return;
      // an extended lease is not handed on, so those that are left ask again
      await lease.extend(2 * OPTIONS.ttl);
      await new Promise<void>((resolve) => void clock.after(15, resolve));
    });
  const tasks = Array.from({ length: 4 }, () => task(one, 'one'));
  await clock.advance(10);
  tasks.push(task(other, 'other'));
  await clock.until(Promise.all(tasks));
  expect(order).toEqual([...Array.from({ length: 4 }, () => 'one'), 'other']);
  await clock.until(Promise.all([one.close(), other.close()]));
});
