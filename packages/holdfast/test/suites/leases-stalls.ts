/** The effect of an event-loop stall on requests and leases: a reply that has arrived counts. */
import { paced, stall, until } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { Holdfast, HoldfastOptions, Lease } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { freshKey, later, queued, turn } from './helpers.js';

/**
 * The request after the last reply has been written, and its reply has not been read. After a stall
 * the event loop runs timers first and then reads sockets.
 */
async function written(): Promise<void> {
  // the request goes to the client in a microtask; some clients write in an immediate
  for (let n = 0; n < 20; n++) await Promise.resolve();
  await turn();
}

/**
 * A key that was used before. The first use teaches its server the scripts, and a quorum its
 * ballot. Without it a request takes two round trips, and the second is not sent during a stall.
 */
async function usedKey(holdfast: Holdfast): Promise<string> {
  const key = freshKey();
  const lease = await holdfast.mutex(key).acquire();
  await lease.extend(60_000);
  expect(await lease.release()).toBe('freed');
  return key;
}

const stallMs = (): number => paced(400);
/**
 * A call that is written before a stall. If the server is slower than the stall, there is no reply
 * yet, so the call is made again: a reply that has arrived would be discarded each time.
 */
async function stalled<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    const calling = call();
    await written();
    stall(stallMs());
    try {
      return await calling;
    } catch (error) {
      if (tries === 20) throw error;
    }
  }
}

/** A claim window that is shorter than the stall, and a lease that is longer. */
const claimed = (): HoldfastOptions => ({ claimWindow: stallMs() / 2, ttl: 60_000 });

/**
 * Work that stalls when a lease is pushed to it. The claim of the lease is written before the stall
 * if it takes one round trip. On a quorum it takes two if a server refused its ballot: the second
 * comes after the stall and the claim window. Then the work is repeated. A reply that is discarded
 * loses the lease each time.
 */
async function inOneTrip(work: () => Promise<boolean>): Promise<boolean> {
  for (let tries = 1; tries <= 5; tries++) if (await work()) return true;
  return false;
}

export function stalls(backend: Backend): void {
  it('longer than requestTimeout does not discard a reply that has arrived', async () => {
    const holdfast = await backend.make({ requestTimeout: paced(150) });
    const key = await usedKey(holdfast);
    const lease = await stalled(() => holdfast.mutex(key).tryAcquire());
    expect(lease?.held).toBe(true);
    expect(await stalled(async () => lease?.extend(60_000))).toBeGreaterThan(50_000);
  });

  it('right after a grant by push does not lose the lease', async () => {
    const [one, other] = [await backend.make(), await backend.make(claimed())];
    const isKept = await inOneTrip(async () => {
      const key = await usedKey(other);
      const first = await one.mutex(key).acquire();
      const working = other
        .mutex(key)
        .acquire()
        .then((lease) => {
          stall(stallMs());
          return { lease, aborted: lease.signal.aborted };
        });
      await queued(one, key, 1);
      await first.release();
      const { lease, aborted } = await working;
      expect(aborted).toBe(false);
      const held = await lease.verify();
      expect([lease.held, lease.signal.aborted]).toEqual([held, !held]);
      expect(await lease.release()).toBe(held ? 'freed' : 'lost');
      return held;
    });
    expect(isKept).toBe(true);
  });

  it('during the whole work under a pushed lease does not lose it', async () => {
    const [one, other] = [await backend.make(), await backend.make(claimed())];
    const isKept = await inOneTrip(async () => {
      const key = await usedKey(other);
      const first = await one.mutex(key).acquire();
      const running = later(other.mutex(key).run(() => stall(stallMs())));
      await queued(one, key, 1);
      await first.release();
      return await running.then(
        () => true,
        (error: unknown) => {
          expect(error).toMatchObject({ code: 'HOLDFAST_LOST' });
          return false;
        },
      );
    });
    expect(isKept).toBe(true);
  });

  it('longer than the lease ends it, for any requested time', async () => {
    const [one, other] = [await backend.make(), await backend.make({ ttl: stallMs() / 2 })];
    const key = freshKey();
    const first = await one.mutex(key).acquire();
    const waiting = other.mutex(key).acquire();
    const working = waiting.then((lease): [Lease, boolean] => {
      stall(stallMs());
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
