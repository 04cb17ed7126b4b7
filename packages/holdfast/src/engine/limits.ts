/**
 * Limits of one command, the same in TypeScript and in Lua. The next command continues where one
 * stopped.
 */

/** A root granted while no other acquisition waits has so many times the hand-offs. */
const ALONE = 8;

/**
 * The most that `ALONE` gives. Their fences run ahead of the store's clock by as many microseconds.
 */
const ALONE_MAX = 128;

export function handOffsAlone(handOffs: number): number {
  return Math.max(handOffs, Math.min(ALONE_MAX, ALONE * handOffs));
}

interface Queueing {
  readonly capacity: number;
  readonly fairWaiting: number;
  readonly queue: { readonly size: number };
}

/**
 * The tasks of a fair root arrived together or are neighbours in the queue, so its hand-offs
 * overtake none.
 */
export function handOffsOf(
  { fair, handOffs }: { readonly fair: boolean; readonly handOffs: number },
  { capacity, fairWaiting, queue }: Queueing,
): number {
  // with several holders, a reserved fence could be used after a higher one
  if (capacity > 1) return 0;
  if (fair) return handOffs;
  if (fairWaiting > 0) return 0;
  return queue.size > 0 ? handOffs : handOffsAlone(handOffs);
}

export const SERVE_LIMIT = 1000;

/**
 * Expired leases that one command removes, each with the holds of an owner. One that was not
 * removed counts against the capacity.
 */
export const EXPIRE_LIMIT = 1000;

/** Holds of one lease. The lease's end removes all in one command. */
export const HOLD_LIMIT = 1000;

export const SIGNAL_LIMIT = 1000;

export const FORCE_LIMIT = 1000;

/** Channels that a gate notifies; other waiters poll. */
export const CHANNEL_LIMIT = 10_000;

export const BROKEN_LIMIT = 64;
