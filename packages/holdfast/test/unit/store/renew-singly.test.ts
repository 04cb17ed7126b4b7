/** Renewal of several leases with one command for each, as the register store does it. */
import { expect, it } from 'vitest';
import type { RenewMany } from '../../../src/engine/commands.js';
import { FAILED, StoreFailure, UNANSWERED } from '../../../src/store/port.js';
import { MemoryRegister } from '../../../src/store/register/memory-register.js';
import { RegisterStore } from '../../../src/store/register/register-store.js';
import { renewSingly } from '../../../src/store/renew-singly.js';
import { asking } from '../../support/crowds.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const renewals = (keys: string[], ids: string[]): RenewMany => {
  return { op: 'renewMany', keys, ids, ttl: 3000, retention: 60_000 };
};

it('gives each lease its own answer: an error or no reply does not affect the others', async () => {
  const command = renewals(['k1', 'k2', 'k3', 'k4'], ['a', 'refused', 'unanswered', 'gone']);
  const reply = await renewSingly(command, async ({ id, ttl }) => {
    if (id === 'refused') throw new StoreFailure('damaged', 'refused', undefined);
    if (id === 'unanswered') throw new StoreFailure('no reply', 'unanswered', undefined);
    if (id === 'gone') return { status: 'absent', now: 1, left: 0 };
    return { status: 'renewed', now: 1, left: ttl * 1000 };
  });
  expect(reply).toEqual({
    ...{ status: 'renewals', now: 1 },
    left: [3_000_000, FAILED, UNANSWERED, 0],
    failure: expect.objectContaining({ message: 'no reply' }),
  });
});

it('one key that does not answer takes no answer from the others', async () => {
  const clock = new VirtualClock();
  const command = renewals(['k1', 'k2', 'k3'], ['fast', 'stuck', 'slow']);
  const replying = renewSingly(
    command,
    async ({ id }) => {
      if (id === 'stuck') await new Promise(() => undefined);
      if (id === 'slow') await new Promise<void>((resolve) => clock.after(400, resolve));
      return { status: 'renewed', now: 1, left: 5 };
    },
    clock,
  );
  let isAnswered = false;
  void replying.then(() => (isAnswered = true));
  await clock.advance(899);
  expect(isAnswered).toBe(false);
  await clock.advance(1);
  expect((await replying).left).toEqual([5, UNANSWERED, 5]);
  expect(
    (
      await renewSingly(
        renewals([], []),
        async () => ({ status: 'absent', now: 1, left: 0 }),
        clock,
      )
    ).left,
  ).toEqual([]);
});

it('renews leases of several keys of a register', async () => {
  const clock = new VirtualClock();
  const store = new RegisterStore(new MemoryRegister(clock), { clock });
  await Promise.all(store.execute([asking('a', { key: 'k1' }), asking('b', { key: 'k2' })]));
  const command = renewals(['k1', 'k2', 'k3'], ['a', 'other', 'c']);
  const [reply] = await Promise.all(store.execute([command]));
  expect(reply).toMatchObject({ status: 'renewals', left: [3_000_000, 0, 0] });
  const inspect = { op: 'inspect', key: 'k2', limit: 1 } as const;
  const [other] = await Promise.all(store.execute([inspect]));
  // the lease of another acquisition is as it was
  expect(other).toMatchObject({ holders: [{ id: 'b', left: 1_000_000 }] });
});
