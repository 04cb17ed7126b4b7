/**
 * Sends a signal of a condition, and retries until the store replies or the lease is over.
 *
 * Each signal of a lease has a number, and the store accepts only numbers above the last one, so a
 * repeated signal has no second effect (I3). Therefore a signal is sent only after the previous one
 * has a reply; otherwise the store would ignore a delayed older signal, and it would be lost.
 */
import type { Core } from '../acquire/core.js';
import type { SignalReply } from '../engine/commands.js';
import { HoldfastError } from '../base/errors.js';
import type { Hold } from '../lease/root.js';
import { isRefusal } from '../store/port.js';
import * as failures from '../acquire/failures.js';
import { growing, retry } from '../base/retry.js';
import { quote } from '../base/text.js';

/** The pauses between attempts, in ms. */
const DELAY = growing(5, 200);

/** Wakes `count` waiters of a condition, or all (0). Resolves to the number that were woken. */
export function sendSignal(
  core: Core,
  hold: Hold,
  condition: string,
  count: number,
): Promise<number> {
  const mine = hold.root.extras.signalling.then(async () => {
    let woken = 0;
    for (;;) {
      // one command wakes or drops only a limited number of waiters
      const most = count === 0 ? 0 : count - woken;
      const reply = await send(core, hold, condition, most);
      woken += reply.woken;
      if (reply.left === 0 || (count > 0 && woken >= count)) return woken;
    }
  });
  hold.root.extras.signalling = mine.catch(() => undefined);
  return mine;
}

async function send(
  core: Core,
  hold: Hold,
  condition: string,
  count: number,
): Promise<SignalReply> {
  const { key, id } = hold;
  const { clock, settings } = core;
  hold.root.extras.signals += 1;
  const { retention } = settings;
  const command = {
    op: 'signal',
    key,
    id,
    condition,
    count,
    seq: hold.root.extras.signals,
    retention,
  } as const;
  let cause: unknown;
  const reply = await retry<SignalReply>(() => core.requests.send(command), {
    clock,
    delay: DELAY,
    continues: () => core.watchdog.verified(hold),
    failed: (error) => {
      if (isRefusal(error)) throw failures.refusedByServer(key, error);
      cause = error;
    },
  });
  if (reply?.status === 'signalled') return reply;
  if (reply !== undefined) core.watchdog.lose(hold, 'gone');
  if (reply !== undefined || cause === undefined) throw hold.lossError();
  const what = `a signal at a condition of ${quote(key)}`;
  const message = `Holdfast: the store did not reply to ${what} before the lease ended`;
  throw new HoldfastError('HOLDFAST_UNCERTAIN', message, { key, cause });
}
