/** Gives leases back that would be valid for too short a time. */
import type { Clock } from '../../clock.js';
import type { Acquire, Command, Reply } from '../../engine/commands.js';
import { type Store, StoreFailure } from '../port.js';

/** The most by which the clock of a client runs slower than that of the quorum, and ms. */
const DRIFT = 0.01;
const DRIFT_MS = 2;

export interface MinValidity {
  readonly store: Pick<Store, 'execute'>;
  readonly clock: Clock;
  /** In ms. */
  readonly least: number;
}

/** Executes an acquisition. Rejects if its lease is valid for too short a time, and releases it. */
export async function withValidity(
  { store, clock, least }: MinValidity,
  acquire: Acquire,
  answer: Promise<Reply>,
): Promise<Reply> {
  const sent = clock.now();
  const reply = await answer;
  if (reply.status !== 'granted' || !('left' in reply)) return reply;
  const left = reply.left / 1000;
  // a lease from the queue starts with the claim window, and its holder renews it at once
  if (acquire.claim < acquire.ttl && left <= acquire.claim) return reply;
  const valid = left * (1 - DRIFT) - DRIFT_MS - (clock.now() - sent);
  if (valid >= least) return reply;
  const { key, id, retention } = acquire;
  const release: Command = { op: 'release', key, id, retention };
  // if this fails, the caller withdraws the acquisition too
  store.execute([release])[0]?.catch(() => undefined);
  const message =
    `the lease would be valid for ${Math.floor(valid)} ms, and minValidity is ${least} ms; ` +
    'it was given back: use a longer ttl, or look for slow servers';
  throw new StoreFailure(message, 'unanswered', undefined);
}
