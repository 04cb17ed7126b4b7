/**
 * Sending a signal: until the store has answered, or the lease is over.
 *
 * Each signal of a lease has a number, and the store takes none that is not above the last one, so
 * that a repeated signal wakes nobody twice (I3). That asks for one thing here: a signal is sent
 * only when the one before is answered, or an older one that comes late would be ignored, and lost.
 */
import type { Core } from '../core.js';
import type { SignalReply } from '../engine/commands.js';
import { HoldfastError } from '../errors.js';
import type { LeaseRecord } from '../lease/lease-record.js';
import { StoreFailure } from '../store/port.js';
import * as failures from '../acquire/failures.js';
import { Pause } from './pause.js';
import { quote } from '../text.js';

const RETRY_MS_MIN = 5;
const RETRY_MS_MAX = 200;

/** Wakes so many who wait at a condition, or all (0). Resolves to how many were woken. */
export function sendSignal(
  core: Core,
  record: LeaseRecord,
  condition: string,
  count: number,
): Promise<number> {
  const mine = record.signalling.then(async () => {
    await record.settled;
    let woken = 0;
    for (;;) {
      // one command wakes or drops a bounded number
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
  for (let again = RETRY_MS_MIN; await core.watchdog.verified(record); again *= 2) {
    try {
      const reply = await core.requests.send(command);
      if (reply.status === 'signalled') return reply;
      core.watchdog.lose(record, 'gone');
      throw record.lossError();
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      if (error.answered && !failures.mayPass(error)) throw failures.refusedByServer(key, error);
      cause = error;
    }
    await new Pause(clock).for(Math.min(again, RETRY_MS_MAX));
  }
  if (cause === undefined) throw record.lossError();
  const message = `Holdfast: no answer to a signal at a condition of ${quote(key)}`;
  throw new HoldfastError('HOLDFAST_UNCERTAIN', message, { key, cause });
}
