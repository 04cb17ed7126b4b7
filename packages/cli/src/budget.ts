/**
 * The time budget of a lease: when the lock is lost, the command must be gone before the next
 * holder starts.
 *
 *     granted        renewal due        request unanswered   SIGTERM          SIGKILL   lease ends
 *     |--- 0.6 ttl ------|--- request timeout ---|--- slack ---|-- kill-after --|-- 1 s --|
 *
 * The first two parts are the time to detect. So `detect + kill-after + 1 s` must be below the ttl.
 */
import { usage } from './failure.js';
import { inWords } from './view/words.js';

/** Milliseconds from SIGKILL to the end of the lease. */
export const MARGIN_MS = 1000;
/** The library renews a lease at this part of its ttl at the latest. */
const RENEWED_AT = 0.6;
const REQUEST_MS = 2000;
const KILL_AFTER_MS = 5000;
/** A shorter time between SIGTERM and SIGKILL is of no use. */
const KILL_AFTER_LEAST_MS = 100;

export interface Budget {
  readonly ttl: number;
  /** For `requestTimeout` of the library. */
  readonly requestTimeout: number;
  /** Milliseconds from SIGTERM to SIGKILL. */
  readonly killAfter: number;
  /** If less than this is left of the lease, the command is ended. */
  readonly reserve: number;
}

/** The budget for a lease that another option, such as `--max-hold`, may make shorter. */
export function budgetWithin(
  { ttl, killAfter }: { readonly ttl: number; readonly killAfter?: number | undefined },
  option: string,
  limit: number | undefined,
): Budget {
  if (limit === undefined || limit >= ttl) return budgetFor(ttl, killAfter);
  return budgetFor(limit, killAfter, option);
}

/**
 * The budget for a ttl. Without `killAfter`, it is 5 s, or less if the ttl is short.
 * @param option the option that sets the length of the lease, for the message
 * @throws a usage error if the times do not fit
 */
export function budgetFor(ttl: number, killAfter?: number, option = '--ttl'): Budget {
  const requestTimeout = Math.min(REQUEST_MS, Math.floor(ttl / 10));
  const longest = Math.ceil(ttl - RENEWED_AT * ttl - requestTimeout - MARGIN_MS) - 1;
  if (longest < KILL_AFTER_LEAST_MS) {
    throw usage(
      `${option} ${inWords(ttl)} is too short to end a command before the lease ends`,
      `use ${option} ${inWords(shortestTtl(KILL_AFTER_LEAST_MS))} or more`,
    );
  }
  if (killAfter !== undefined && killAfter > longest) {
    throw usage(
      `--kill-after ${inWords(killAfter)} does not fit into ${option} ${inWords(ttl)}: the time ` +
        'to detect a loss, the time to end the command and 1 s must be shorter than the lease',
      `use --kill-after ${inWords(longest)} or less, or ${option} ` +
        inWords(shortestTtl(killAfter)),
    );
  }
  const chosen = killAfter ?? Math.min(KILL_AFTER_MS, longest);
  return { ttl, requestTimeout, killAfter: chosen, reserve: chosen + MARGIN_MS };
}

/** The shortest ttl in whole seconds into which a kill-after fits. */
function shortestTtl(killAfter: number): number {
  const fits = (ttl: number): boolean => {
    const request = Math.min(REQUEST_MS, Math.floor(ttl / 10));
    return RENEWED_AT * ttl + request + killAfter + MARGIN_MS < ttl;
  };
  let ttl = 1000;
  while (!fits(ttl)) ttl += 1000;
  return ttl;
}
