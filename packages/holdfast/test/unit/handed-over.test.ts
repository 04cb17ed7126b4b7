/** Leases that are handed over inside a reentrant run, and several that are lost while adopted. */
import { expect, it } from 'vitest';
import { adopt, handOver } from '../../src/handover.js';
import { Holdfast, memory, type MultiLease } from '../../src/index.js';

it('an inner reentrant run whose work hands the lease over resolves', async () => {
  const store = memory();
  const [one, other] = [new Holdfast(store), new Holdfast(store)];
  const mutex = one.mutex('k', { reentrant: true });
  const text = await mutex.run(() => mutex.run((lease) => handOver(one, lease)));
  expect((await adopt(other, text)).held).toBe(true);
});

it('several leases that a close ends during the adoption tell the loss', async () => {
  const silent: number[] = [];
  for (let steps = 0; steps < 400; steps++) {
    const store = memory();
    const [one, other] = [new Holdfast(store), new Holdfast(store)];
    const keys = Array.from({ length: 50 }, (_, at) => `k${at}`);
    const text = handOver(one, await one.allOf(keys).acquire());
    const adopting = adopt<MultiLease>(other, text);
    const adopted = adopting.catch(() => undefined);
    for (let left = steps; left > 0; left--) await Promise.resolve();
    await other.close({ grace: 0 });
    const lease = await adopted;
    if (lease !== undefined && !lease.held && !lease.signal.aborted) silent.push(steps);
  }
  expect(silent).toEqual([]);
});
