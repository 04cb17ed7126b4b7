/** What takes back whatever an acquisition has, granted or not, used or not. */
import type { Park, Release } from '../engine/commands.js';
import type { PushTokens } from '../acquire/pushes.js';

/** Where a lease came from that was granted to somebody who had waited at a condition. */
export interface Origin {
  /** The acquisition that gave its lease up. */
  readonly id: string;
  readonly condition: string;
}

/** An acquisition that is given up. */
export interface Abandoned {
  readonly key: string;
  readonly id: string;
  /** Set if it waited at a condition: then the signal that was for it goes to the next. */
  readonly origin?: Origin | undefined;
  /** The tokens that its grant would be pushed with, if it waited. */
  readonly tokens?: PushTokens | undefined;
  /** As in `Release.unpassed`. */
  readonly unpassed?: boolean;
}

/** A release is taken for an end of the work; what was granted in vain says so. */
export function withdrawal(what: Abandoned, retention: number): Release | Park {
  const { key, id, origin, unpassed = false } = what;
  if (origin === undefined) return { op: 'release', key, id, to: '', unpassed, retention };
  const { id: from, condition } = origin;
  return {
    ...{ op: 'park', key, id: from, as: id, condition, want: 'nothing', retention },
    ...{ ttl: 1, claim: 1, fair: false, handOffs: 0, channel: '', maxParked: 0 },
    ...{ patience: 0, token: '', meta: '' },
  };
}
