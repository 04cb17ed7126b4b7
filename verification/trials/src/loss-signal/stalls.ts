/**
 * The second half of `loss-signal`: an event loop is blocked for longer than the ttl, in each kind
 * of callback, and another process holds the lock when it continues.
 */
import type { Server } from 'holdfast-testkit';
import { Contender } from '../support/contenders.js';
import type { Problems } from '../support/problems.js';
import { between, randomFrom } from '../support/random.js';
import type { Parameters } from '../trial.js';
import { PLACES } from '../workers/stall.js';

export const TTL_OF_STALLS = 300;
const LEASES = 10;

export interface Stalls {
  /** Leases that were held when their process was blocked. */
  readonly leases: number;
  /** Leases that were lost to another process by the end of the stall. */
  readonly taken: number;
}

export async function stallOften(
  { client, fault, trials, seed }: Parameters,
  { url }: Server,
  problems: Problems,
): Promise<Stalls> {
  const random = randomFrom(seed);
  const given = { url, client, options: { ttl: TTL_OF_STALLS, claimWindow: 100 } };
  const holder = await Contender.start({ ...given, fault });
  const other = await Contender.start({ ...given, fault: undefined });
  const count = { leases: 0, taken: 0 };
  try {
    for (let round = 0; count.leases < trials; round++) {
      const keys = Array.from({ length: LEASES }, (_, at) => `stall ${round}.${at}`);
      // half of the leases have an abort listener; of the others, only `signal.aborted` is read
      await holder.want(keys.map((key, at) => ({ key, lock: {}, ignoresSignal: at % 2 === 0 })));
      for (const key of keys) await holder.nextEvent('held', key);
      await other.want(keys.map((key) => ({ key, lock: {}, hold: 0 })));
      const place = PLACES[round % PLACES.length] ?? 'timer';
      const ms = TTL_OF_STALLS * between(random, 1.02, 1.6);
      const { to, observations } = await holder.stall({ ms, place });
      for (const { key, held, aborted, heldLater } of observations) {
        count.leases += 1;
        const where = `${key}, after ${Math.round(ms)} ms in a ${place}`;
        if (held) problems.add('held after a stall', where);
        if (!aborted) problems.add('no abort after a stall', where);
        if (heldLater) problems.add('held again after a stall', where);
      }
      if (observations.length < LEASES)
        problems.add('lease missing', `${observations.length} of ${LEASES}`);
      await holder.release(...keys);
      for (const key of keys) {
        await holder.nextEvent('over', key);
        if ((await other.nextEvent('held', key)).at <= to) count.taken += 1;
      }
    }
    if (count.taken === 0) problems.add('no successor', 'no lock had another holder after a stall');
    return count;
  } finally {
    await Promise.all([holder.kill(), other.kill()]);
  }
}
