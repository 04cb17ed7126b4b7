/** The errors of acquisitions that ended without a lease. */
import type { Conflict, Crowded, Full, Mismatch } from '../engine/commands.js';
import type { LockKind } from '../engine/kinds.js';
import { HoldfastError, isHoldfastError } from '../base/errors.js';
import type { Hold } from '../lease/root.js';
import { StoreFailure } from '../store/port.js';
import { printable, quote } from '../base/text.js';

interface Asked {
  readonly key: string;
  readonly weight: number;
  readonly kind: LockKind;
  readonly capacity: number;
  /** The option that sets the capacity, if users choose it. */
  readonly option?: string | undefined;
}

export interface Used {
  readonly kind: LockKind | '';
  readonly capacity: number;
}

type Refusal = Full | Mismatch | Conflict | Crowded;

export interface Place {
  readonly ticket: number;
  /** Calls before it behind the same entry, or behind the lease below. */
  readonly before: number;
  /** The lease of this process that it waited for, without an entry in the store. */
  readonly holder?: Hold | undefined;
}

const places = new WeakMap<object, Place>();

export function timedOut(key: string, wait: number, place?: Place): HoldfastError {
  const message = `Holdfast: ${quote(key)} was not granted within ${Math.round(wait)} ms`;
  const error = new HoldfastError('HOLDFAST_TIMEOUT', message, { key });
  if (place !== undefined) places.set(error, place);
  return error;
}

export function placeOf(error: unknown): Place | undefined {
  return places.get(error as object);
}

/**
 * The same error with the stack of the running code: the answer or timer that ended a wait does not
 * contain the caller.
 */
export function atCaller(error: unknown, more = ''): unknown {
  if (!isHoldfastError(error)) return error;
  return new HoldfastError(error.code, error.message + more, error as object);
}

export async function fromCaller<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw atCaller(error);
  }
}

export function refused(request: Asked, reply: Refusal): HoldfastError {
  if (reply.status === 'mismatch') return mismatch(request, reply);
  const { key } = request;
  const message = `Holdfast: ${quote(key)} was refused: ${reasonOf(request, reply)}`;
  return new HoldfastError('HOLDFAST_REFUSED', message, { key });
}

function reasonOf({ weight, option }: Asked, reply: Exclude<Refusal, Mismatch>): string {
  switch (reply.status) {
    case 'full':
      return `${reply.length} acquisitions wait already, which is the limit of maxQueue`;
    case 'conflict':
      return option === undefined
        ? 'its sharedBy holds the read lock already and would wait for itself; ' +
            'release that lease first, or upgrade it with lease.tryUpgrade()'
        : `its sharedBy holds ${permits(reply.weight)} of the requested ${weight} already ` +
            'and would wait for itself; release that lease first';
    case 'crowded':
      return `its sharedBy has ${reply.holds} holds already, the limit of one lease; release some`;
  }
}

function permits(count: number): string {
  return count === 1 ? '1 permit' : `${count} permits`;
}

export function mismatch(
  { key, option, ...asked }: Omit<Asked, 'weight'>,
  agreed: Used,
): HoldfastError {
  const kinds = `is in use as ${textOf(agreed)}, and was requested as ${textOf(asked)}`;
  const message = `Holdfast: ${quote(key)} ${kinds}`;
  const about: object = { key, option };
  const error = new HoldfastError('HOLDFAST_MISMATCH', message, about);
  if (agreed.kind === asked.kind) capacities.set(error, agreed.capacity);
  return error;
}

/** The capacity in use, by the error that it caused; only of locks of the requested kind. */
const capacities = new WeakMap<object, number>();

export function agreedOf(error: unknown): number | undefined {
  return capacities.get(error as object);
}

function textOf({ kind, capacity }: Used): string {
  switch (kind) {
    case 'mutex':
      return 'a mutex';
    case 'semaphore':
      return `a semaphore with ${permits(capacity)}`;
    case 'rw-lock':
      return 'a read-write lock';
    case 'flight':
      return 'a single flight';
    case '':
      return 'a lock of an unknown kind';
  }
}

export function waitsForItself(key: string): HoldfastError {
  const why = 'the code that asks for it holds it already, so it would wait for itself';
  const message = `Holdfast: ${quote(key)} was refused: ${why}`;
  return new HoldfastError('HOLDFAST_REFUSED', message, { key });
}

export function releasedAsleep(key: string): HoldfastError {
  const when = 'while it waited at a condition';
  const message = `Holdfast: the lease of ${quote(key)} was released ${when}`;
  return new HoldfastError('HOLDFAST_LOST', message, { key });
}

export function shared(key: string, holds: number): HoldfastError {
  const message =
    `Holdfast: ${quote(key)} cannot be given up to wait at a condition: ` +
    `it has ${holds} holds, or others may hold it too`;
  return new HoldfastError('HOLDFAST_REFUSED', message, { key });
}

export function refusedByServer(key: string, cause: StoreFailure): HoldfastError {
  if (cause.name === 'UnreadableRecord') return unreadable(key, cause);
  if (cause.kind === 'unacknowledged') {
    const text = `Holdfast: ${quote(key)} was granted and released again: ${cause.message}`;
    return new HoldfastError('HOLDFAST_UNACKNOWLEDGED', text, { key, cause });
  }
  const message = `Holdfast: ${quote(key)} was refused by the server: ${cause.message}`;
  return new HoldfastError('HOLDFAST_REFUSED', message, { key, cause });
}

export function unreadable(key: string, cause: StoreFailure): HoldfastError {
  const message =
    `Holdfast: the record of ${quote(key)} cannot be read (${cause.message}); ` +
    'a newer Holdfast or another program wrote it, or it was damaged: ' +
    'delete the key if nothing uses it';
  return new HoldfastError('HOLDFAST_REFUSED', message, { key, cause });
}

export function unreachable(key: string, cause: unknown): HoldfastError {
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  const refuses = cause instanceof StoreFailure && cause.answered;
  const what = refuses ? 'the store refuses commands now' : 'the store did not answer';
  const message = `Holdfast: ${what} for ${quote(key)}${why}`;
  return new HoldfastError('HOLDFAST_UNREACHABLE', message, { key, cause });
}

export function notSent(key: string, wait: number): HoldfastError {
  const message =
    `Holdfast: the store was not asked for ${quote(key)} within ${wait} ms: ` +
    `it waited for its turn behind other requests of this process (\`maxRequests\`)`;
  return new HoldfastError('HOLDFAST_UNREACHABLE', message, { key });
}

export function tooSlow(key: string, ttl: number): HoldfastError {
  const message =
    `Holdfast: the answer for "${key}" took longer than its lease of ${ttl} ms; ` +
    `use a longer ttl`;
  return new HoldfastError('HOLDFAST_UNREACHABLE', message, { key });
}

export function notWarm(closing: boolean, cause: unknown): HoldfastError {
  if (closing) return new HoldfastError('HOLDFAST_CLOSED', 'Holdfast: this instance is closed');
  const why = cause instanceof Error ? `: ${printable(cause.message)}` : '';
  const message = `Holdfast: the connection for wake-ups could not be opened${why}`;
  return new HoldfastError('HOLDFAST_UNREACHABLE', message, { cause });
}

export function closed(key: string): HoldfastError {
  const message = `Holdfast: this instance is closed, so ${quote(key)} was not acquired`;
  return new HoldfastError('HOLDFAST_CLOSED', message, { key });
}
