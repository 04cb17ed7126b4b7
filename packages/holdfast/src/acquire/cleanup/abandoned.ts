/**
 * Abandoned acquisitions: withdrawn from the store, and remembered for a while, because a grant may
 * still arrive (I6).
 */
import type { Park, Release } from '../../engine/commands.js';
import { HoldfastError } from '../../base/errors.js';
import type { Hold } from '../../lease/root.js';
import type { Settings } from '../../base/options.js';
import { quote } from '../../base/text.js';
import type { LateDuplicates } from './late-duplicates.js';
import type { ReleaseRetrier } from './release-retrier.js';
import type { GrantPush, PushTokens } from '../pushes.js';

const LEASE_MAX = 86_400_000;
const GIVEN_UP_MAX = 1000;

export class AbandonedAcquisitions {
  readonly #settings: Settings;
  readonly #retrier: ReleaseRetrier;
  readonly #lateDuplicates: LateDuplicates;
  readonly #lately = new Map<string, Abandoned>();

  constructor(settings: Settings, retrier: ReleaseRetrier, lateDuplicates: LateDuplicates) {
    this.#settings = settings;
    this.#retrier = retrier;
    this.#lateDuplicates = lateDuplicates;
  }

  has(id: string): boolean {
    return this.#lately.has(id);
  }

  /** A late duplicate may still arrive for an acquisition that is over. */
  follow(what: Abandoned): void {
    this.#remember({ ...what, mayBeDuplicated: true });
    this.#lateDuplicates.follow(what.key, what.id);
  }

  /** @param lasts how long, in ms, the store may have something of it */
  withdraw(what: Abandoned, lasts: number, mayBeDuplicated: boolean): void {
    if (mayBeDuplicated) this.follow(what);
    else this.#remember(what);
    const { clock, requestTimeout, retention } = this.#settings;
    const until = clock.now() + lasts + requestTimeout;
    void this.#retrier.release({ id: what.id, command: withdrawal(what, retention), until });
  }

  /** The place in the queue may last as long as the lock's record. */
  leaveQueue(what: Abandoned, ttl: number, mayBeDuplicated: boolean): void {
    this.withdraw(what, Math.max(ttl, this.#settings.retention), mayBeDuplicated);
  }

  /**
   * Called before a lease is given to its call. Throws if the lease ended while its claim was on
   * its way, and withdraws it: the claim may still arrive.
   */
  refuseEnded(hold: Hold): void {
    if (hold.reason !== 'expired') return;
    const { key, id, ttl, unpassed, mayBeDuplicated } = hold.root;
    this.withdraw({ key, id, unpassed }, ttl, mayBeDuplicated);
    const message = `Holdfast: the lease of ${quote(key)} ended before the call had it`;
    throw new HoldfastError('HOLDFAST_UNREACHABLE', message, { key, cause: hold.lossError() });
  }

  #remember(what: Abandoned): void {
    this.#lately.set(what.id, what);
    if (this.#lately.size > GIVEN_UP_MAX) {
      this.#lately.delete(this.#lately.keys().next().value as string);
    }
  }

  /** Releases a pushed grant without an acquisition if it was abandoned here. */
  refuse({ id, left, token }: GrantPush): void {
    const what = this.#lately.get(id);
    if (what === undefined || what.tokens?.include(token) === false) return;
    // a copy has come: others may follow, however late
    this.withdraw(what, Math.min(left / 1000, LEASE_MAX), what.mayBeDuplicated === true);
  }
}

export interface Origin {
  readonly id: string;
  readonly condition: string;
}

export interface Abandoned {
  readonly key: string;
  readonly id: string;
  readonly origin?: Origin | undefined;
  readonly tokens?: PushTokens | undefined;
  /** As in `Release.unpassed`. */
  readonly unpassed?: boolean;
  readonly mayBeDuplicated?: boolean;
}

/**
 * A release ends the work of a holder, so an unused grant after a condition wait is withdrawn by a
 * park command.
 */
export function withdrawal(what: Abandoned, retention: number): Release | Park {
  const { key, id, origin, unpassed = false } = what;
  if (origin === undefined) {
    return { op: 'release', key, id, unpassed, unhurried: true, retention };
  }
  const { id: from, condition } = origin;
  return {
    ...{ op: 'park', key, id: from, as: id, condition, want: 'nothing', retention },
    ...{ ttl: 1, claim: 1, fair: false, channel: '', maxParked: 0 },
    ...{ patience: 0, token: '', meta: '' },
  };
}
