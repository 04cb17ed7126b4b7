import type { GateCommand, GateReply } from '../../engine/commands.js';
import type { Settings } from '../../base/options.js';
import { isClosed, isRefusal, type StoreFailure } from '../../store/port.js';
import type { Requests } from '../../store/requests.js';
import * as failures from '../../acquire/failures.js';
import { retry, spread } from '../../base/retry.js';

export interface GatePolicy {
  over(): boolean;
  /** An attempt failed; without an answer, the store may have executed it. */
  failed(failure: StoreFailure): void;
  readonly patience: number;
  /** A pause does not keep the process alive. */
  readonly weak?: boolean;
}

/**
 * Resolves to `undefined` when no answer is needed any more. Rejects with `HOLDFAST_REFUSED` if the
 * server refuses, and with `HOLDFAST_UNREACHABLE` after `patience` ms.
 */
export async function retryUntilAnswered(
  { requests, settings }: { readonly requests: Requests; readonly settings: Settings },
  command: () => GateCommand,
  how: GatePolicy,
): Promise<GateReply | undefined> {
  const { clock } = settings;
  let sent = command();
  let last: StoreFailure | undefined;
  const reply = await retry<GateReply>(
    (tries) => {
      if (tries > 0) sent = command();
      return requests.send(sent);
    },
    {
      clock,
      delay: spread(settings),
      until: clock.now() + how.patience,
      continues: (tries) => tries === 0 || !how.over(),
      failed: (error) => {
        last = error as StoreFailure;
        if (isRefusal(last)) throw failures.refusedByServer(sent.key, last);
        if (isClosed(last)) throw failures.unreachable(sent.key, last);
        how.failed(last);
      },
      ...(how.weak && { weak: true }),
    },
  );
  if (reply === undefined && !how.over()) throw failures.unreachable(sent.key, last);
  return reply;
}
