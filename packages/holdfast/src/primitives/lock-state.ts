import { aborted, onAbort } from '../base/abort.js';
import * as failures from '../acquire/failures.js';
import type { Core } from '../acquire/core.js';
import { isHoldfastError } from '../base/errors.js';
import type { InspectReply } from '../engine/commands.js';
import { ask } from './inspection.js';
import { Pause } from '../base/pause.js';
import { checkAwait, type WaitOptions } from './gate-options.js';

const SHOWN_MAX = 1000;

export function stateOf(core: Core, key: string, limit = 1): Promise<InspectReply> {
  return ask(core, { op: 'inspect', key, limit });
}

export async function placeOf(core: Core, key: string): Promise<number | null> {
  const first = await stateOf(core, key, SHOWN_MAX);
  const { waiterCount } = first;
  const all = waiterCount > SHOWN_MAX ? await stateOf(core, key, waiterCount) : first;
  let before = 0;
  for (const { id, tasks } of all.waiters) {
    if (id.startsWith(`${core.id}.`)) return before;
    before += Math.max(1, tasks);
  }
  // waiters behind a lease of this process are not in the store's queue
  return core.acquisitions.roots.localWaiters(key) > 0 ? before : null;
}

export async function poll(
  core: Core,
  key: string,
  options: WaitOptions,
  enough: (state: InspectReply) => boolean,
): Promise<boolean> {
  const { wait, signal } = checkAwait(options);
  const { clock, settings } = core;
  const until = clock.now() + wait;
  let answered = clock.now();
  const pause = new Pause(clock);
  let isClosed = false;
  const unhook = core.onClose(() => {
    isClosed = true;
    pause.wake();
  });
  const unfollow = signal && onAbort(signal, () => pause.wake());
  try {
    for (;;) {
      if (isClosed) throw failures.closed(key);
      if (signal?.aborted) throw aborted(key, signal.reason);
      const state = await stateOf(core, key).catch((error: unknown) => {
        const now = clock.now();
        const isOver = now >= until || now - answered >= settings.unreachableAfter;
        if (isOver || !isHoldfastError(error, 'HOLDFAST_UNREACHABLE')) throw error;
      });
      if (state !== undefined && enough(state)) return true;
      const now = clock.now();
      if (state !== undefined) answered = now;
      const left = until - now;
      if (left <= 0) return false;
      await pause.for(Math.min(settings.claimWindow / 4, left));
    }
  } finally {
    unhook();
    unfollow?.();
  }
}
