/** A command without an answer makes a client look for the masters. That may fail. */
import { expect, it, vi } from 'vitest';
import type { ClientPort, ClusterView } from '../../../src/store/clients/port.js';
import { RedisStore } from '../../../src/store/redis/redis-store.js';
import { asking } from '../../support/crowds.js';
import { settle } from '../../support/virtual-clock.js';

it('a refresh that fails rejects nothing, and the next one follows', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  try {
    const refresh = vi.fn(() => Promise.reject(new Error('no node answers')));
    const cluster: Partial<ClusterView> = { masterOf: () => 'host:1', refresh };
    const port = { name: 'test', keyPrefix: '', writesLater: false, cluster };
    const store = new RedisStore(port as unknown as ClientPort, 'r:');
    for (const calls of [1, 2]) {
      void store.unanswered(asking('a'));
      void store.unanswered(asking('b'));
      // a rejection that no code handles fails the test
      await settle();
      expect(refresh).toHaveBeenCalledTimes(calls);
      vi.advanceTimersByTime(1000);
    }
  } finally {
    vi.useRealTimers();
  }
});
