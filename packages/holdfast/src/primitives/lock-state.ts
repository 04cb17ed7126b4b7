import { unlessAborted } from '../base/abort.js';
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

/** An abort or a close does not wait for a silent server. */
export function unlessEnded<T>(
  core: Core,
  key: string,
  signal: AbortSignal | undefined,
  call: () => Promise<T>,
): Promise<T> {
  const closed = (): Promise<T> =>
    new Promise((resolve, reject) => {
      const unhook = core.onClose(() => reject(failures.closed(key)));
      if (!core.closing) call().finally(unhook).then(resolve, reject);
    });
  return unlessAborted({ signal }, closed, key);
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
  let answered = clock.now();
  const until = answered + wait;
  const pause = new Pause(clock);
  let ended = false;
  const look = async (): Promise<boolean> => {
    while (!ended) {
      const state = await stateOf(core, key).catch((error: unknown) => {
        const isOver = clock.now() >= Math.min(until, answered + settings.unreachableAfter);
        if (isOver || !isHoldfastError(error, 'HOLDFAST_UNREACHABLE')) throw error;
      });
      if (ended) break;
      if (state !== undefined) {
        if (enough(state)) return true;
        answered = clock.now();
      }
      const left = until - clock.now();
      if (left <= 0) break;
      await pause.for(Math.min(settings.claimWindow / 4, left));
    }
    return false;
  };
  try {
    return await unlessEnded(core, key, signal, look);
  } finally {
    ended = true;
    pause.wake();
  }
}
