/** A server that loses all parked waiters. Only on backends with a server. */
import { expect, it } from 'vitest';
import type { Backend } from '../support/backends.js';
import { waitForParked } from './condition-helpers.js';
import { freshKey } from './helpers.js';

export function conditionServerFaults(backend: Backend): void {
  it('wakes all parked waiters when the server loses its data', async () => {
    const one = await backend.make({ claimWindow: 100 });
    const mutex = one.mutex(freshKey());
    const lease = await mutex.acquire();
    const { fence } = lease;
    const waiting = mutex.condition('c').await(lease);
    await waitForParked(one, mutex.key, 1);
    await backend.admin.command('SCRIPT', 'FLUSH');
    await backend.admin.command('FLUSHALL');
    expect(await waiting).toBe(true);
    expect(lease.held).toBe(true);
    expect(lease.fence).toBeGreaterThan(fence);
    expect(await lease.release()).toBe('freed');
  });
}
