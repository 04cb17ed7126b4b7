/** Renewal of several leases, with a command for each. */
import type { Clock, Timer } from '../base/clock.js';
import type { Renew, RenewMany, RenewManyReply, RenewReply } from '../engine/commands.js';
import { FAILED, StoreFailure, UNANSWERED } from './port.js';

const MISSING_MS = 500;

export async function renewSingly(
  { keys, ids, ttl, retention }: RenewMany,
  renew: (command: Renew) => Promise<RenewReply>,
  clock?: Clock,
): Promise<RenewManyReply> {
  let now = 0;
  let failure: Error | undefined;
  let timer: Timer | undefined;
  const left: number[] = keys.map(() => UNANSWERED);
  await new Promise<void>((resolve) => {
    const renewals = keys.map(async (key, index) => {
      const id = ids[index] as string;
      try {
        const reply = await renew({ op: 'renew', key, id, ttl, retention });
        now = reply.now;
        left[index] = reply.left;
        timer?.cancel();
        timer = clock?.after(MISSING_MS, resolve, true);
      } catch (error) {
        failure = error as Error;
        left[index] = codeOf(error);
      }
    });
    void Promise.all(renewals).then(() => resolve());
  });
  timer?.cancel();
  return { status: 'renewals', left: [...left], now, ...(failure && { failure }) };
}

/** The code of a failed renewal, in the reply to `renewMany`. */
export function codeOf(error: unknown): number {
  return error instanceof StoreFailure && error.answered ? FAILED : UNANSWERED;
}
