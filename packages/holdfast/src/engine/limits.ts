/**
 * Limits of one command, the same in TypeScript and in Lua. What is left over waits for the next
 * command.
 */

/** Waiters that one command serves or skips at most. */
export const SERVE_LIMIT = 1000;

/**
 * Expired leases that one command removes at most, each hold of an owner counted as one more. Until
 * it is removed, a lease still counts against the capacity.
 */
export const EXPIRE_LIMIT = 1000;

/**
 * Holds of one owner's lease. A hold costs the store the same whatever their number; the end of a
 * lease removes all of its holds in one command.
 */
export const HOLD_LIMIT = 1000;

/** Parked waiters that one signal wakes or drops at most. */
export const SIGNAL_LIMIT = 1000;

/** Leases that one forced release ends at most. */
export const FORCE_LIMIT = 1000;

/** Channels that a gate tells of its opening; those beyond find out by polling. */
export const CHANNEL_LIMIT = 10_000;

/** Broken generations that a gate remembers. */
export const BROKEN_LIMIT = 64;
