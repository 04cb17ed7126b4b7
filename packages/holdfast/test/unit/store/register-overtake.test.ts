/** A process that changes a key without a pause must not keep another one from its queue. */
import { describe, expect, it } from 'vitest';
import type { Command } from '../../../src/engine/commands.js';
import type { MemoryRegister } from '../../../src/store/register/memory-register.js';
import { RegisterStore } from '../../../src/store/register/register-store.js';
import { asking } from '../../support/crowds.js';
import { DistantRegister } from '../../support/distant-register.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const mutex = { key: 'k', capacity: 1, retention: 60_000, ttl: 20_000, claim: 2000 };
const renewal: Command = { op: 'renew', key: 'k', id: 'a', ttl: 20_000, retention: 60_000 };

/** How often a holder changes the state, without a pause, until another process is in the queue. */
async function changesUntilQueued(clock: VirtualClock, register: MemoryRegister): Promise<number> {
  const [holder, other] = [0, 1].map(() => new RegisterStore(register, { clock })) as [
    RegisterStore,
    RegisterStore,
  ];
  await clock.until(Promise.all(holder.execute([asking('a', mutex)])));
  let changes = 0;
  let isQueued = false;
  const queued = Promise.all(other.execute([asking('b', mutex)])).finally(() => {
    isQueued = true;
  });
  const changing = async (): Promise<void> => {
    while (!isQueued) {
      await Promise.all(holder.execute([renewal]));
      changes += 1;
    }
  };
  const [[reply]] = await clock.until(Promise.all([queued, changing()]));
  expect(reply).toMatchObject({ status: 'queued' });
  return changes;
}

describe('a process that comes to a lock whose state changes all the time', () => {
  it('is in the queue after some changes, by a register that overtakes', async () => {
    const clock = new VirtualClock();
    const register = new DistantRegister(clock);
    expect(await changesUntilQueued(clock, register)).toBeLessThan(30);
    expect(register.overtaken).toBeGreaterThan(0);
  });

  it('control: loses each race for the state otherwise', async () => {
    const clock = new VirtualClock();
    const register = new DistantRegister(clock);
    Object.assign(register, { overtake: undefined });
    const counting = changesUntilQueued(clock, register);
    await expect(counting).rejects.toThrow('100 times in a row');
  });

  it('overtakes nothing if it loses no race', async () => {
    const clock = new VirtualClock();
    const register = new DistantRegister(clock);
    const store = new RegisterStore(register, { clock });
    for (const id of ['a', 'b', 'c'])
      await clock.until(Promise.all(store.execute([asking(id, mutex)])));
    expect(register.overtaken).toBe(0);
  });
});
