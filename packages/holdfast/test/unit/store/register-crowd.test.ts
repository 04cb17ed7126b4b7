/** Many processes that ask for one lock on a register at the same moment. */
import { expect, it } from 'vitest';
import type { AcquireReply } from '../../../src/engine/replies.js';
import { MemoryRegister } from '../../../src/store/register/memory-register.js';
import type { Change, Swapped, Versioned } from '../../../src/store/register/register.js';
import { RegisterStore } from '../../../src/store/register/register-store.js';
import { asking } from '../../support/crowds.js';
import { randomOf } from '../../support/seeded-random.js';
import { VirtualClock } from '../../support/virtual-clock.js';

/** Each call takes effect after a delay, and is answered after the same one. */
class Distant extends MemoryRegister {
  calls = 0;
  readonly #clock: VirtualClock;
  readonly #delay: () => number;

  constructor(clock: VirtualClock, delay: () => number) {
    super(clock);
    this.#clock = clock;
    this.#delay = delay;
  }

  override read(key: string): Promise<Versioned> {
    return this.#there(() => super.read(key));
  }

  override swap(key: string, version: string, change: Change): Promise<Swapped> {
    return this.#there(() => super.swap(key, version, change));
  }

  override overtake(key: string): Promise<Versioned> {
    return this.#there(() => super.overtake(key));
  }

  async #there<T>(call: () => Promise<T>): Promise<T> {
    this.calls += 1;
    const wait = (): Promise<void> =>
      new Promise((resolve) => void this.#clock.after(this.#delay(), resolve));
    await wait();
    const answer = await call();
    await wait();
    return answer;
  }
}

const mutex = { key: 'k', capacity: 1, retention: 60_000, ttl: 20_000, claim: 2000 };

/** How many calls each process needs until it has the lock or a place in the queue. */
async function callsEach(count: number, distance: number): Promise<number> {
  const clock = new VirtualClock();
  const fraction = randomOf(count);
  const register = new Distant(clock, () => distance * (0.7 + 0.6 * fraction()));
  const asked = Array.from({ length: count }, (_, at) => {
    const store = new RegisterStore(register, { clock, fraction });
    return Promise.all(store.execute([asking(`p${at}`, mutex)]));
  });
  const replies = await clock.until(Promise.all(asked));
  const queued = replies.filter(([reply]) => (reply as AcquireReply).status === 'queued');
  expect(queued.length).toBe(count - 1);
  return register.calls / count;
}

// 19; with pauses of 2 to 16 ms, whatever a call takes, 31
it('90 processes, 1 ms from the register, need at most 24 calls each', async () => {
  expect(await callsEach(90, 1)).toBeLessThanOrEqual(24);
});
