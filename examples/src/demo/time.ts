/** The demo's clock: monotonic, and shared by all processes of a machine. */
import { setTimeout } from 'node:timers/promises';

/** Milliseconds, with fractions. Times of two processes can be compared. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Resolves after `ms`; rejects with the signal's reason when that aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await setTimeout(ms, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  }
}
