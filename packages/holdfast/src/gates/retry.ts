/** Repeats a gate command until the store answers. All gate commands may be repeated (I3). */
import type { GateCommand, GateReply } from '../engine/commands.js';
import type { Settings } from '../options.js';
import { isRefusal, type StoreFailure } from '../store/port.js';
import type { Requests } from '../store/requests.js';
import * as failures from '../acquire/failures.js';

/** The conditions under which attempts continue. */
export interface RetryPolicy {
  /** True when the answer is not needed any more. */
  over(): boolean;
  /** An attempt failed. If it was not answered, the store may have carried it out. */
  failed(failure: StoreFailure): void;
  /** Ms until the attempts end. */
  readonly patience: number;
  /** True if a pause does not keep the process alive. */
  readonly weak?: boolean;
}

/**
 * Resolves to the answer, or to `undefined` when it is not needed any more. Rejects with
 * `HOLDFAST_REFUSED` if the server refuses, and with `HOLDFAST_UNREACHABLE` after `patience` ms.
 */
export async function retryUntilAnswered(
  { requests, settings }: { readonly requests: Requests; readonly settings: Settings },
  command: () => GateCommand,
  how: RetryPolicy,
): Promise<GateReply | undefined> {
  const { randomSource, claimWindow, clock, unreachableAfter } = settings;
  const until = clock.now() + how.patience;
  for (;;) {
    const next = command();
    try {
      return await requests.send(next);
    } catch (error) {
      const failure = error as StoreFailure;
      if (isRefusal(failure)) throw failures.refusedByServer(next.key, failure);
      how.failed(failure);
      if (how.over()) return undefined;
      if (clock.now() >= until) throw failures.unreachable(next.key, failure);
    }
    const pause = Math.min(claimWindow / 4, unreachableAfter / 10);
    await new Promise<void>((resolve) => {
      clock.after(pause * (0.5 + randomSource.fraction() / 2), resolve, how.weak);
    });
    if (how.over()) return undefined;
  }
}
