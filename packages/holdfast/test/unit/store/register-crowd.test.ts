/** Many processes that ask for one lock on a register at the same moment. */
import { expect, it } from 'vitest';
import type { AcquireReply } from '../../../src/engine/replies.js';
import { RegisterStore } from '../../../src/store/register/register-store.js';
import { asking } from '../../support/crowds.js';
import { DistantRegister } from '../../support/distant-register.js';
import { randomOf } from '../../support/seeded-random.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const mutex = { key: 'k', capacity: 1, retention: 60_000, ttl: 20_000, claim: 2000 };

/** How many calls each process needs until it has the lock or a place in the queue. */
async function callsEach(count: number, distance: number): Promise<number> {
  const clock = new VirtualClock();
  const fraction = randomOf(count);
  const register = new DistantRegister(clock, () => distance * (0.7 + 0.6 * fraction()));
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
