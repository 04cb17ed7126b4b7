/**
 * Sends a signal of a condition, and retries until the store replies or the lease is over.
 *
 * Each signal of a lease has a number, and the store accepts only numbers above the last one, so a
 * repeated signal has no second effect (I3). Therefore a signal is sent only after the previous one
 * has a reply; otherwise the store would ignore a delayed older signal, and it would be lost.
 */
import type { Core } from '../core.js';
import type { SignalReply } from '../engine/commands.js';
import { HoldfastError } from '../errors.js';
import type { LeaseRecord } from '../lease/lease-record.js';
import { isRefusal } from '../store/port.js';
import * as failures from '../acquire/failures.js';
import { growing, retry } from '../retry.js';
import { quote } from '../text.js';

/** The pauses between attempts, in ms. */
const DELAY = growing(5, 200);

/** Wakes `count` waiters of a condition, or all (0). Resolves to the number that were woken. */
export function sendSignal(
  core: Core,
  record: LeaseRecord,
  condition: string,
  count: number,
): Promise<number> {
  const mine = record.signalling.then(async () => {
    let woken = 0;
    for (;;) {
      // one command wakes or drops only a limited number of waiters
      const most = count === 0 ? 0 : count - woken;
      const reply = await send(core, record, condition, most);
      woken += reply.woken;
      if (reply.left === 0 || (count > 0 && woken >= count)) return woken;
    }
  });
  record.signalling = mine.catch(() => undefined);
  return mine;
}

async function send(
  core: Core,
  record: LeaseRecord,
  condition: string,
  count: number,
): Promise<SignalReply> {
  const { key, id } = record;
  const { clock, settings } = core;
  record.signals += 1;
  const { retention } = settings;
  const command = {
    op: 'signal',
    key,
    id,
    condition,
    count,
    seq: record.signals,
    retention,
  } as const;
  let cause: unknown;
  const reply = await retry<SignalReply>(() => core.requests.send(command), {
    clock,
    delay: DELAY,
    continues: () => core.watchdog.verified(record),
    failed: (error) => {
      if (isRefusal(error)) throw failures.refusedByServer(key, error);
      cause = error;
    },
  });
  if (reply?.status === 'signalled') return reply;
  if (reply !== undefined) core.watchdog.lose(record, 'gone');
  if (reply !== undefined || cause === undefined) throw record.lossError();
  const what = `a signal at a condition of ${quote(key)}`;
  const message = `Holdfast: the store did not reply to ${what} before the lease ended`;
  throw new HoldfastError('HOLDFAST_UNCERTAIN', message, { key, cause });
}
