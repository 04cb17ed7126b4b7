/** Why an acquisition ended without a lease. */
import type { Full, Mismatch } from '../engine/types.js';
import { HoldfastError } from '../errors.js';
import type { StoreFailure } from '../store/port.js';

/** Answers of a server that is not itself at the moment: the same request may succeed later. */
const PASSING = /^(LOADING|READONLY|MASTERDOWN|BUSY|TRYAGAIN|CLUSTERDOWN|NOREPLICAS|MISCONF)\b/;

export function mayPass(failure: StoreFailure): boolean {
  return PASSING.test(failure.message);
}

export function timedOut(key: string, wait: number): HoldfastError {
  const message = `Holdfast: "${key}" was not granted within ${wait} ms`;
  return new HoldfastError('HOLDFAST_TIMEOUT', message, { key });
}

export function aborted(key: string, cause: unknown): HoldfastError {
  const message = `Holdfast: waiting for "${key}" was aborted`;
  return new HoldfastError('HOLDFAST_ABORTED', message, { key, cause });
}

export function refused(key: string, reply: Full | Mismatch): HoldfastError {
  const why =
    reply.status === 'full'
      ? `${reply.length} wait already, the limit of maxQueue`
      : `it is in use with the capacity ${reply.capacity}`;
  const message = `Holdfast: "${key}" was refused: ${why}`;
  return new HoldfastError('HOLDFAST_REFUSED', message, { key });
}

export function refusedByServer(key: string, cause: StoreFailure): HoldfastError {
  const message = `Holdfast: "${key}" was refused by the server: ${cause.message}`;
  return new HoldfastError('HOLDFAST_REFUSED', message, { key, cause });
}

export function unreachable(key: string, cause: unknown): HoldfastError {
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  const message = `Holdfast: the store did not answer for "${key}"${why}`;
  return new HoldfastError('HOLDFAST_UNREACHABLE', message, { key, cause });
}

export function closed(key: string): HoldfastError {
  const message = `Holdfast: this instance was closed, "${key}" was not acquired`;
  return new HoldfastError('HOLDFAST_CLOSED', message, { key });
}
