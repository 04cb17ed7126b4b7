/**
 * Limits of one command, the same in TypeScript and in Lua. The next command continues where a
 * limit stopped this one.
 */

/** A root that is granted while no other acquisition waits has this many times the hand-offs. */
const ALONE = 8;

/**
 * The maximum number to which `ALONE` raises the hand-offs. Their fences are reserved, and run
 * ahead of the clock of the store by as many microseconds.
 */
const ALONE_MAX = 128;

/** The hand-offs of a root that is granted while no other acquisition waits. */
export function handOffsAlone(handOffs: number): number {
  return Math.max(handOffs, Math.min(ALONE_MAX, ALONE * handOffs));
}

/** What decides about the hand-offs of a grant. */
interface Queueing {
  readonly capacity: number;
  readonly fairWaiting: number;
  readonly queue: { readonly size: number };
}

/**
 * The hand-offs of a grant. The tasks of a fair root arrived together or are neighbours in the
 * queue, so its hand-offs overtake no other acquisition.
 */
export function handOffsOf(
  { fair, handOffs }: { readonly fair: boolean; readonly handOffs: number },
  { capacity, fairWaiting, queue }: Queueing,
): number {
  // with several holders, a reserved fence could be used after a higher one was granted
  if (capacity > 1) return 0;
  if (fair) return handOffs;
  if (fairWaiting > 0) return 0;
  return queue.size > 0 ? handOffs : handOffsAlone(handOffs);
}

/** The maximum number of waiters that one command serves or drops. */
export const SERVE_LIMIT = 1000;

/**
 * The maximum number of expired leases that one command removes; each hold of an owner counts as
 * one more. Until it is removed, an expired lease still counts against the capacity.
 */
export const EXPIRE_LIMIT = 1000;

/**
 * The maximum number of holds of one lease. Adding a hold costs the same for any number; the end of
 * a lease removes all of its holds in one command.
 */
export const HOLD_LIMIT = 1000;

/** The maximum number of parked waiters that one signal wakes or drops. */
export const SIGNAL_LIMIT = 1000;

/** The maximum number of leases that one forced release ends. */
export const FORCE_LIMIT = 1000;

/**
 * The maximum number of channels that a gate notifies; waiters beyond it find the result by
 * polling.
 */
export const CHANNEL_LIMIT = 10_000;

/** The number of broken generations that a gate remembers. */
export const BROKEN_LIMIT = 64;
