/** Helpers of the suites. */
import { paced, until } from 'holdfast-testkit';
import { expect } from 'vitest';
import type { Holdfast, HoldfastErrorCode, LockInfo, RunOnceResult } from '../../src/index.js';
import { HoldfastError } from '../../src/index.js';

let count = 0;

/** A key that no other test uses. */
export function freshKey(what = 'key'): string {
  count += 1;
  return `${what} ${process.pid}.${count}`;
}

/** Keys that no other test uses, in their order. */
export function freshKeys(count: number): string[] {
  return Array.from({ length: count }, () => freshKey()).sort();
}

/** The error that a promise rejects with: it must be a `HoldfastError` with this code. */
export async function failure(
  promise: Promise<unknown>,
  code: HoldfastErrorCode,
): Promise<HoldfastError> {
  const error = await promise.then(
    (value) => new Error(`it resolved to ${String(value)}`),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(HoldfastError);
  expect(error).toMatchObject({ name: 'HoldfastError', code });
  return error as HoldfastError;
}

/**
 * Waits until this number of acquisitions wait: in the store's queue, or behind another task of the
 * same instance.
 * @param others further instances with waiters
 */
export async function queued(
  holdfast: Holdfast,
  key: string,
  waiters: number,
  others: readonly Holdfast[] = [],
): Promise<LockInfo> {
  const look = async (): Promise<LockInfo | false> => {
    const info = await holdfast.inspect(key);
    let count = info?.waiterCount ?? 0;
    for (const { core } of new Set([holdfast, ...others]))
      count += core.acquisitions.roots.localWaiters(key);
    return info !== null && count === waiters && info;
  };
  return until(look, { what: `${waiters} wait` });
}

/** Waits until a key has no holder and no waiter. */
export async function unused(holdfast: Holdfast, key: string): Promise<void> {
  await until(async () => (await holdfast.inspect(key)) === null, { what: 'it is not in use' });
}

/**
 * Waits until renewals have moved the end of a key's first lease to this many ms after its start. A
 * third of a ttl passes before a renewal, so a test can have a long ttl and need not wait for it.
 */
export async function renewedUntil(holdfast: Holdfast, key: string, ms: number): Promise<void> {
  const look = async (): Promise<boolean> => {
    const holder = (await holdfast.inspect(key))?.holders[0];
    if (holder === undefined) throw new Error('it is not held');
    return holder.heldFor + holder.remaining > ms;
  };
  await until(look, { within: paced(15_000), what: 'its lease is renewed' });
}

/** Resolves when a signal aborts, to its reason. */
export function aborted(signal: AbortSignal): Promise<HoldfastError> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason as HoldfastError);
    signal.addEventListener('abort', () => resolve(signal.reason as HoldfastError));
  });
}

/** Marks a promise: its rejection is handled later. */
export function later<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** One turn of the event loop, so that another task could enter the critical section. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Records whether two holders overlap, and whether fences grow. */
export class Watch {
  inside = 0;
  most = 0;
  readonly fences: number[] = [];

  async visit(fence: number): Promise<void> {
    this.inside += 1;
    this.most = Math.max(this.most, this.inside);
    this.fences.push(fence);
    await turn();
    this.inside -= 1;
  }

  get ascending(): boolean {
    return this.fences.every((fence, at) => at === 0 || fence > (this.fences[at - 1] as number));
  }
}

/** The fence of a scheduled run, which must have run. */
export function fenceOf(result: RunOnceResult<unknown>): number {
  if (!result.ran) throw new Error(`it was not run: ${result.reason}`);
  return result.fence;
}
