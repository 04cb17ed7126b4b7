/**
 * The command that withdraws an acquisition from the store: a waiter, a holder, or an unused grant.
 */
import type { Park, Release } from '../../engine/commands.js';
import type { PushTokens } from '../pushes.js';

/** The origin of a lease that was granted after a wait at a condition. */
export interface Origin {
  /** The acquisition that gave up its lease. */
  readonly id: string;
  readonly condition: string;
}

/** An abandoned acquisition. */
export interface Abandoned {
  readonly key: string;
  readonly id: string;
  /** Set if it waited at a condition: its signal then goes to the next condition waiter. */
  readonly origin?: Origin | undefined;
  /** The tokens that a push of its grant may contain, if it waited. */
  readonly tokens?: PushTokens | undefined;
  /** As in `Release.unpassed`. */
  readonly unpassed?: boolean;
}

/**
 * For the store, a release ends the work of a holder. A grant after a condition wait that was never
 * used is withdrawn by a park command instead.
 */
export function withdrawal(what: Abandoned, retention: number): Release | Park {
  const { key, id, origin, unpassed = false } = what;
  if (origin === undefined) return { op: 'release', key, id, unpassed, retention };
  const { id: from, condition } = origin;
  return {
    ...{ op: 'park', key, id: from, as: id, condition, want: 'nothing', retention },
    ...{ ttl: 1, claim: 1, fair: false, channel: '', maxParked: 0 },
    ...{ patience: 0, token: '', meta: '' },
  };
}
