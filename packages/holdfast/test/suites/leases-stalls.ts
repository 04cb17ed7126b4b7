/** What a stall of the event loop does to requests and leases: an answer that arrived counts. */
import { until } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { Lease } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { freshKey, queued, turn } from './helpers.js';

/** Works without giving way. */
function stall(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/**
 * The request that was made after the last answer has been written, and nothing was read since: the
 * next thing that runs after a stall is the timers, and then sockets are read.
 */
async function written(): Promise<void> {
  // the request is given to the client in a microtask; some clients write in an immediate
  for (let n = 0; n < 20; n++) await Promise.resolve();
  await turn();
}

/** A claim window that is shorter than the stall, in a lease that is longer. */
const CLAIMED = { claimWindow: 200, ttl: 20_000 };
const STALL_MS = 400;

export function stalls(backend: Backend): void {
  it('longer than requestTimeout leaves an answer that has arrived an answer', async () => {
    const holdfast = await backend.make({ requestTimeout: 150 });
    // the server is to know the scripts: what it does not know is sent again, which takes a round
    await using ready = await holdfast.mutex(freshKey()).acquire();
    await ready.extend(60_000);
    const trying = holdfast.mutex(freshKey()).tryAcquire();
    await written();
    stall(STALL_MS);
    const lease = await trying;
    expect(lease?.held).toBe(true);
    const extending = lease?.extend(60_000);
    await written();
    stall(STALL_MS);
    expect(await extending).toBeGreaterThan(50_000);
  });

  it('right after a grant by push does not cost the lease', async () => {
    const [one, other] = [await backend.make(), await backend.make(CLAIMED)];
    const key = freshKey();
    const first = await one.mutex(key).acquire();
    const waiting = other.mutex(key).acquire();
    const working = waiting.then((lease) => {
      stall(STALL_MS);
      return { lease, aborted: lease.signal.aborted };
    });
    await queued(one, key, 1);
    await first.release();
    const { lease, aborted } = await working;
    expect(aborted).toBe(false);
    expect(await lease.verify()).toBe(true);
    expect([lease.held, lease.signal.aborted]).toEqual([true, false]);
    expect(await lease.release()).toBe('freed');
  });

  it('of the whole work under a pushed lease is no loss', async () => {
    const [one, other] = [await backend.make(), await backend.make(CLAIMED)];
    const key = freshKey();
    const first = await one.mutex(key).acquire();
    const running = other.mutex(key).run(() => stall(STALL_MS));
    await queued(one, key, 1);
    await first.release();
    await running;
  });

  it('longer than the lease ends it, whatever was asked for', async () => {
    const [one, other] = [await backend.make(), await backend.make({ ttl: 150 })];
    const key = freshKey();
    const first = await one.mutex(key).acquire();
    const waiting = other.mutex(key).acquire();
    const working = waiting.then((lease): [Lease, boolean] => {
      stall(STALL_MS);
      return [lease, lease.held];
    });
    await queued(one, key, 1);
    await first.release();
    const [lease, held] = await working;
    expect(held).toBe(false);
    expect(await lease.verify()).toBe(false);
    await until(() => lease.signal.aborted);
    expect(await lease.release()).toBe('lost');
  });
}
