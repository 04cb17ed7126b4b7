/**
 * The second half of `loss-signal`: an event loop is blocked for longer than the ttl, in each kind
 * of callback, and another process holds the lock when it continues.
 */
import { paced, type Server } from 'holdfast-testkit';
import { Contender } from '../support/contenders.js';
import type { Problems } from '../support/problems.js';
import { between, randomFrom } from '../support/random.js';
import type { Parameters } from '../trial.js';
import { PLACES } from '../workers/stall.js';

const TTL_MS = 300;
/** A stall of a second with the planted clock would look like a suspend, which makes doubtful. */
const TTL_MS_MAX = 600;
const LEASES = 10;

export interface Stalls {
  readonly ttl: number;
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
  const ttl = Math.min(TTL_MS_MAX, paced(TTL_MS));
  const given = { url, client, options: { ttl, claimWindow: ttl / 3 } };
  const holder = await Contender.start({ ...given, fault });
  const other = await Contender.start({ ...given, fault: undefined });
  const count = { ttl, leases: 0, taken: 0 };
  try {
    for (let round = 0; count.leases < trials; round++) {
      const keys = Array.from({ length: LEASES }, (_, at) => `stall ${round}.${at}`);
      // half of the leases have an abort listener; of the others, only `signal.aborted` is read
      await holder.want(keys.map((key, at) => ({ key, lock: {}, ignoresSignal: at % 2 === 0 })));
      for (const key of keys) await holder.nextEvent('held', key);
      await other.want(keys.map((key) => ({ key, lock: {}, hold: 0 })));
      const place = PLACES[round % PLACES.length] ?? 'timer';
      const ms = ttl * between(random, 1.02, 1.6);
      // each place both ways; in a small run, the first round is one with renewed leases
      const renewed = (round + Math.floor(round / PLACES.length)) % 2 === 0 ? ttl : 0;
      const { to, observations } = await holder.stall({ ms, place, renewed });
      for (const { key, held, aborted, heldLater, abortedLater } of observations) {
        count.leases += 1;
        const where = `${key}, after ${Math.round(ms)} ms in a ${place}`;
        if (held) problems.add('held after a stall', where);
        // while a renewal has no answer, its answer may have arrived unread
        const isTold = renewed > 0 ? aborted : abortedLater;
        if (!isTold) problems.add('no abort after a stall', where);
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
