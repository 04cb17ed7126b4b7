/**
 * Rejects leases that are valid for too short a time, and names a wrong clock as the reason. The
 * caller gives them back, unless it has them by another answer.
 */
import type { Clock } from '../../base/clock.js';
import type { Acquire, Reply } from '../../engine/commands.js';
import { StoreFailure } from '../port.js';

/** By how much a client's clock may be slower than that of the quorum. */
const DRIFT = 0.01;
const DRIFT_MS = 2;

export interface MinValidity {
  readonly clock: Clock;
  /** In ms. */
  readonly least: number;
  readonly failure: (ttl: number) => StoreFailure | undefined;
}

/** Rejects if the clocks do not tell when the lease ends. */
export async function withClocks(
  { failure }: MinValidity,
  { ttl }: Pick<Acquire, 'ttl'>,
  answer: Promise<Reply>,
): Promise<Reply> {
  const reply = await answer;
  if (reply.status !== 'renewed' || reply.left > 0) return reply;
  const reason = failure(ttl);
  if (reason !== undefined) throw reason;
  return reply;
}

export async function withValidity(
  { clock, least, failure }: MinValidity,
  acquire: Acquire,
  answer: Promise<Reply>,
): Promise<Reply> {
  const sent = clock.now();
  const reply = await answer;
  if (reply.status !== 'granted' || !('left' in reply)) return reply;
  const left = reply.left / 1000;
  const valid = left * (1 - DRIFT) - DRIFT_MS - (clock.now() - sent);
  const reason = left <= 0 ? failure(acquire.ttl) : undefined;
  // a lease from the queue starts with the claim window, and is renewed at once
  const isClaimed = acquire.claim < acquire.ttl && left <= acquire.claim;
  if (reason === undefined && (least === 0 || isClaimed || valid >= least)) return reply;
  // no further attempt helps until the clock is set
  if (reason !== undefined) throw new StoreFailure(reason.message, 'refused', undefined);
  const message =
    `the lease would be valid for ${Math.floor(valid)} ms, and minValidity is ${least} ms; ` +
    'it is given back: use a longer ttl, or look for slow servers';
  throw new StoreFailure(message, 'unanswered', undefined);
}
