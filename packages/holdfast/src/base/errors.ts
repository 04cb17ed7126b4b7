/**
 * A refusal is a value (`tryAcquire` resolves to `null`), a failure an error, and an unknown
 * outcome has its own code.
 */
import { similar } from './similar.js';
import { escaped, quote } from './text.js';

/**
 * The kind of a failure:
 *
 * - `HOLDFAST_BAD_OPTION`: an argument has a wrong type or range, or contradicts another one. No
 *   request was sent.
 * - `HOLDFAST_TIMEOUT`: the wait limit passed before the lock was granted, and the store answered
 *   until then. The caller holds nothing.
 * - `HOLDFAST_ABORTED`: the caller's signal aborted during the wait; `cause` is its reason. The
 *   caller holds nothing, except after a wait at a condition: then the lock is held again.
 * - `HOLDFAST_REFUSED`: the store answered and refused: the queue is at its limit, the same
 *   `sharedBy` already holds the read lock or fewer permits, or has the most holds, or the server
 *   itself refused (memory, permission). The caller holds what it held before.
 * - `HOLDFAST_MISMATCH`: the key is in use as another kind of lock, or with another number of
 *   permits, count or parties, which the message names. The caller holds nothing.
 * - `HOLDFAST_LOST`: a lease ended before its holder released it.
 * - `HOLDFAST_NOT_HELD`: code that needs a lock runs without it, see `assertLocked`.
 * - `HOLDFAST_UNREACHABLE`: the store did not answer, or not within the wait limit, or it refuses
 *   commands for now (a replica, a fail-over), or the store's code could not be loaded at the first
 *   call. `cause` is the last failure. The caller holds nothing: a grant that was made nevertheless
 *   is withdrawn when the store answers again, or expires.
 * - `HOLDFAST_UNACKNOWLEDGED`: fewer replicas than the option `replicas` confirmed the grant in
 *   time. It is released; the caller holds nothing.
 * - `HOLDFAST_UNCERTAIN`: a release, an extension or a forced release was sent and not answered, so
 *   it may have happened; or a lease is in doubt, so it may be held, see `Lease.verify`.
 * - `HOLDFAST_BROKEN`: a barrier or latch cannot open in this generation: a party crashed, gave up
 *   or was late, or it was reset. All its waiters are rejected.
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
  | 'HOLDFAST_UNACKNOWLEDGED'
  | 'HOLDFAST_UNCERTAIN'
  | 'HOLDFAST_BROKEN'
  | 'HOLDFAST_CLOSED';

const BRAND = Symbol.for('holdfast.error');
const PAGE = 'npm:holdfast/docs/errors.md';
/** The end of a message, which may be a part of another error's. */
const SEE = new RegExp(` \\(see ${PAGE}#\\w+\\)`, 'g');

/** Every error that Holdfast throws or rejects with. */
export class HoldfastError extends Error {
  readonly code: HoldfastErrorCode;
  /** The key that the error concerns, if any. */
  readonly key: string | undefined;
  /**
   * The option that is not valid (`HOLDFAST_BAD_OPTION`), or differs from the value in use
   * (`HOLDFAST_MISMATCH`).
   */
  readonly option: string | undefined;
  /**
   * What to do: the section about the code, in the npm package `holdfast`, which a bundle does not
   * contain. The message ends with it.
   */
  readonly page: string;

  constructor(
    code: HoldfastErrorCode,
    message: string,
    about: { key?: string; option?: string; cause?: unknown } = {},
  ) {
    const page = `${PAGE}#${code.toLowerCase()}`;
    const text = `${escaped(message).replace(SEE, '')} (see ${page})`;
    super(text, about.cause === undefined ? undefined : { cause: about.cause });
    this.name = 'HoldfastError';
    this.code = code;
    this.key = about.key;
    this.option = about.option;
    this.page = page;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** Also accepts an error of another installed copy. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isHoldfastError(value);
  }
}

/** True for an error of any installed copy of Holdfast, with the given code, if any. */
export function isHoldfastError(error: unknown, code?: HoldfastErrorCode): error is HoldfastError {
  if (typeof error !== 'object' || error === null || !(BRAND in error)) return false;
  return code === undefined || (error as unknown as HoldfastError).code === code;
}

/** The error for an option that is not valid. */
export function badOption(option: string, expected: string, got: unknown): HoldfastError {
  const message = `Holdfast: option ${quote(option)} must be ${expected}, not ${show(got)}`;
  return new HoldfastError('HOLDFAST_BAD_OPTION', message, { option });
}

const RENAMED: Readonly<Record<string, string>> = { owner: 'sharedBy' };

export function unknownOption(option: string, names: Iterable<string>): HoldfastError {
  const all = [...names];
  const near = all
    .filter((name) => similar(option, name) || RENAMED[option] === name)
    .map((name) => quote(name));
  const hint = near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`;
  const options = `(the options are ${all.join(', ')})`;
  const message = `Holdfast: unknown option ${quote(option)}${hint} ${options}`;
  return new HoldfastError('HOLDFAST_BAD_OPTION', message, { option });
}

const SHOWN_MAX = 40;

function show(value: unknown): string {
  if (typeof value === 'string') {
    // no password
    return quote(value.replace(/\/\/.*@/s, '//…@'), SHOWN_MAX);
  }
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? `an array of ${value.length}` : 'an object';
  }
  return typeof value === 'function' ? 'a function' : String(value);
}
