/**
 * One class, and a stable code for each kind of failure.
 *
 * Refusal is a value (`tryAcquire` resolves to `null`), failure is an error, and uncertainty has a
 * code of its own.
 */
import { escaped, quote } from './text.js';

/**
 * What went wrong:
 *
 * - `HOLDFAST_BAD_OPTION`: an argument has a wrong type or range, or contradicts another. Nothing
 *   was sent.
 * - `HOLDFAST_TIMEOUT`: the wait limit passed before the lock was granted, and the store answered
 *   until then. Nothing is held.
 * - `HOLDFAST_ABORTED`: the caller's signal aborted while waiting; `cause` is its reason. Nothing
 *   is held; after waiting at a condition, the lock is held again.
 * - `HOLDFAST_REFUSED`: the store answered, and the answer was no: the queue is at its limit, the
 *   owner holds less of the key already, or the server itself refused (memory, permission, a
 *   replica). Nothing is held that was not before.
 * - `HOLDFAST_MISMATCH`: the key is in use with another capacity: as another kind of lock, or with
 *   other permits, another count or other parties; the message says which capacity is agreed.
 *   Nothing is held.
 * - `HOLDFAST_LOST`: a lease ended before its owner released it.
 * - `HOLDFAST_NOT_HELD`: code that must run under a lock does not, see `assertLocked`.
 * - `HOLDFAST_UNREACHABLE`: the store did not answer, or not before the wait limit passed; `cause`
 *   is the last failure. The caller holds nothing; should the store
 *   have granted in spite of that, the grant is withdrawn as soon as it can be reached, and ends at
 *   its expiry otherwise.
 * - `HOLDFAST_UNCERTAIN`: a release, extension or forced release was sent and not answered: it may
 *   have happened. Or a lease is in doubt: it may be held, see `Lease.verify`.
 * - `HOLDFAST_BROKEN`: a barrier or a latch can open no more in this generation: a party died, gave
 *   up or was too late, or it was reset. Nobody who waits is let through.
 * - `HOLDFAST_CLOSED`: this `Holdfast` was closed.
 */
export type HoldfastErrorCode =
  | 'HOLDFAST_BAD_OPTION'
  | 'HOLDFAST_TIMEOUT'
  | 'HOLDFAST_ABORTED'
  | 'HOLDFAST_REFUSED'
  | 'HOLDFAST_MISMATCH'
  | 'HOLDFAST_LOST'
  | 'HOLDFAST_NOT_HELD'
  | 'HOLDFAST_UNREACHABLE'
  | 'HOLDFAST_UNCERTAIN'
  | 'HOLDFAST_BROKEN'
  | 'HOLDFAST_CLOSED';

const BRAND = Symbol.for('holdfast.error');

/** Every error that Holdfast throws or rejects with. */
export class HoldfastError extends Error {
  /** What kind of failure it is. */
  readonly code: HoldfastErrorCode;
  /** The key that it is about, if it is about one. */
  readonly key: string | undefined;
  /** The option that was bad (`HOLDFAST_BAD_OPTION`), or not as agreed (`HOLDFAST_MISMATCH`). */
  readonly option: string | undefined;

  constructor(
    code: HoldfastErrorCode,
    message: string,
    about: { key?: string; option?: string; cause?: unknown } = {},
  ) {
    super(escaped(message), about.cause === undefined ? undefined : { cause: about.cause });
    this.name = 'HoldfastError';
    this.code = code;
    this.key = about.key;
    this.option = about.option;
    // survives duplicate installations, where `instanceof` does not
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/**
 * True for an error of Holdfast, of this or another installed copy; with `code`, for that kind
 * only.
 */
export function isHoldfastError(error: unknown, code?: HoldfastErrorCode): error is HoldfastError {
  if (typeof error !== 'object' || error === null || !(BRAND in error)) return false;
  return code === undefined || (error as unknown as HoldfastError).code === code;
}

/** A bad argument: names the option, and says what was expected and what came. */
export function badOption(option: string, expected: string, got: unknown): HoldfastError {
  const message = `Holdfast: option ${quote(option)} must be ${expected}, not ${show(got)}`;
  return new HoldfastError('HOLDFAST_BAD_OPTION', message, { option });
}

/** Characters of a bad value that are shown. */
const SHOWN_MAX = 40;

function show(value: unknown): string {
  if (typeof value === 'string') {
    return quote(value, SHOWN_MAX);
  }
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? 'an array' : 'an object';
  }
  return typeof value === 'function' ? 'a function' : String(value);
}
