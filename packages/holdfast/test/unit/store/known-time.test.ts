/** The clock of a register, as a process knows it: leases count from the upper bound. */
import { expect, it } from 'vitest';
import type { Micros, Push } from '../../../src/engine/commands.js';
import { decodePush } from '../../../src/store/push-text.js';
import { latestOf, shortened, timeOf } from '../../../src/store/register/known-time.js';
import { MemoryRegister } from '../../../src/store/register/memory-register.js';
import type { Change, Swapped, Versioned } from '../../../src/store/register/register.js';
import { RegisterStore } from '../../../src/store/register/register-store.js';
import { asking } from '../../support/crowds.js';
import { VirtualClock } from '../../support/virtual-clock.js';

/** The lower bound of its clock is this much behind the upper one. */
const LATE: Micros = 100_000;
const TTL = 1000;

/** A quorum after a pause of the process: one of its servers has not answered since. */
class Vague extends MemoryRegister {
  readonly changes: Change[] = [];

  override async read(key: string): Promise<Versioned> {
    const read = await super.read(key);
    return { ...read, time: read.time - LATE, latest: read.time };
  }

  override async swap(key: string, version: string, change: Change): Promise<Swapped> {
    this.changes.push(change);
    const swapped = await super.swap(key, version, change);
    return swapped && { ...swapped, time: swapped.time - LATE, latest: swapped.time };
  }
}

const grant = (left: Micros): Push => ({
  ...{ kind: 'grant', id: 'a', fence: 5, now: 5, handOffs: 0, holds: 1, token: 't' },
  left,
});

// A waiter that has no answer yet counts its lease from its request. The time of the command may
// be earlier than the request, so the lease would last for longer than in the store.
it('a waiter whose request travels with the release gets a lease that is shorter', async () => {
  const clock = new VirtualClock();
  const register = new Vague(clock);
  const ignore = (): void => undefined;
  await register.listen('c', { message: ignore, up: ignore, down: ignore });
  const store = new RegisterStore(register, { clock, fraction: () => 0.5 });
  const ask = { key: 'k', capacity: 1, ttl: TTL, channel: 'c', token: 't' };
  await store.execute([asking('a', ask)])[0];
  const release = { op: 'release', key: 'k', id: 'a', retention: 60_000 } as const;
  await Promise.all(store.execute([asking('b', ask), release]));
  const [message] = register.changes.at(-1)?.messages ?? [];
  const push = decodePush(message?.text ?? '');
  expect(push).toMatchObject({ kind: 'grant', id: 'b' });
  const { left } = push as Extract<Push, { kind: 'grant' }>;
  expect(left).toBeLessThanOrEqual(TTL * 1000 - LATE);
  expect(left).toBeGreaterThan(TTL * 1000 - 2 * LATE);
});

it('only grants by push are shortened, never below nothing', () => {
  expect(shortened(grant(1000), 400)).toEqual(grant(600));
  expect(shortened(grant(1000), 0)).toEqual(grant(1000));
  expect(shortened(grant(1000), 5000)).toEqual(grant(0));
  expect(shortened(grant(1000), Number.POSITIVE_INFINITY)).toEqual(grant(0));
  expect(shortened({ kind: 'signal', id: 'a' }, 400)).toEqual({ kind: 'signal', id: 'a' });
});

it('the bounds drift apart, and no command is earlier than the last one', () => {
  const known = { time: 0, storeTime: 1000, knownAt: 10, latest: 2000, askedAt: 8 };
  expect(timeOf(known, 110)).toBe(1000 + 99_000);
  expect(latestOf(known, 108)).toBe(2000 + 101_000);
  expect(timeOf({ ...known, time: 500_000 }, 110)).toBe(500_000);
});
