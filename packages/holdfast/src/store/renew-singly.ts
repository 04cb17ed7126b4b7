/** Renewal of several leases, with a command for each. */
import type { Renew, RenewMany, RenewManyReply, RenewReply } from '../engine/commands.js';
import { FAILED, StoreFailure, UNANSWERED } from './port.js';

export async function renewSingly(
  { keys, ids, ttl, retention }: RenewMany,
  renew: (command: Renew) => Promise<RenewReply>,
): Promise<RenewManyReply> {
  let now = 0;
  let failure: Error | undefined;
  const renewals = keys.map(async (key, index) => {
    const id = ids[index] as string;
    try {
      const reply = await renew({ op: 'renew', key, id, ttl, retention });
      now = reply.now;
      return reply.left;
    } catch (error) {
      failure = error as Error;
      return codeOf(error);
    }
  });
  const left = await Promise.all(renewals);
  return { status: 'renewals', left, now, ...(failure && { failure }) };
}

/** The code of a failed renewal, in the reply to `renewMany`. */
export function codeOf(error: unknown): number {
  return error instanceof StoreFailure && error.answered ? FAILED : UNANSWERED;
}
