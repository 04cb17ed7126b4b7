/**
 * Observes the leader by polling: the store pushes only to waiters, and a waiting observer would be
 * elected.
 *
 *     poll --changed--> yield --\
 *       \---same, or no reply----+--> pause (`every`, or until notified) --> poll
 */
import { onAbort } from '../base/abort.js';
import type { Core } from '../acquire/core.js';
import { isHoldfastError } from '../base/errors.js';
import type { Leader } from './election.js';
import { unlessEnded } from './lock-state.js';
import { Pause } from '../base/pause.js';

export interface Watching {
  readonly every: number;
  readonly signal: AbortSignal | undefined;
  readonly observers: Set<() => void>;
}

export async function* watchLeader(
  core: Core,
  key: string,
  poll: () => Promise<Leader | null>,
  { every, signal, observers }: Watching,
): AsyncGenerator<Leader | null, void, undefined> {
  const { clock, settings } = core;
  const pause = new Pause(clock);
  let stopped = signal?.aborted ?? false;
  let notified = false;
  const notify = (): void => {
    notified = true;
    pause.wake();
  };
  const stop = (): void => {
    stopped = true;
    pause.wake();
  };
  const unbind = signal && onAbort(signal, stop);
  const unhook = core.onClose(stop);
  observers.add(notify);
  let seen: number | undefined;
  let repliedAt = clock.now();
  try {
    while (!stopped) {
      const polledAt = clock.now();
      notified = false;
      let leader: Leader | null | undefined;
      try {
        leader = await unlessEnded(core, key, signal, poll);
        repliedAt = clock.now();
      } catch (error) {
        if (stopped || core.closing) return;
        const isOver = clock.now() >= repliedAt + settings.unreachableAfter;
        if (isOver || !isHoldfastError(error, 'HOLDFAST_UNREACHABLE')) throw error;
      }
      const term = leader === null ? 0 : leader?.term;
      if (!stopped && leader !== undefined && term !== seen) {
        seen = term;
        yield leader;
      }
      if (!stopped && !notified) await pause.for(every - (clock.now() - polledAt));
    }
  } finally {
    observers.delete(notify);
    unbind?.();
    unhook();
  }
}
