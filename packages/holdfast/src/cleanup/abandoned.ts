/**
 * Acquisitions that were given up: what they have is taken back from the store, and they are
 * remembered for a while, because a grant may still come for them (I6).
 */
import type { Settings } from '../options.js';
import type { LateDuplicates } from './late-duplicates.js';
import type { GrantPush } from '../acquire/pushes.js';
import type { ReleaseRetrier } from './release-retrier.js';
import { type Abandoned, withdrawal } from './withdrawal.js';

/** Ms: no lease is longer. */
const LEASE_MAX = 86_400_000;
/** Most acquisitions that are remembered after they were given up. */
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

  /** An acquisition is over, and a request for it may still arrive. */
  follow(what: Abandoned): void {
    this.#remember(what);
    this.#lateDuplicates.follow(what.key, what.id);
  }

  /**
   * Tells the store that an acquisition wants nothing any more.
   * @param lasts how long there may be something of it, in ms
   * @param echoes whether a request for it may still arrive
   */
  withdraw(what: Abandoned, lasts: number, mayBeDuplicated: boolean): void {
    if (mayBeDuplicated) this.follow(what);
    else this.#remember(what);
    const { clock, requestTimeout, retention } = this.#settings;
    const until = clock.now() + lasts + requestTimeout;
    void this.#retrier.release({ id: what.id, command: withdrawal(what, retention), until });
  }

  /** The same for one who waits: a place in the queue lasts for as long as the record may. */
  leaveQueue(what: Abandoned, ttl: number, mayBeDuplicated: boolean): void {
    this.withdraw(what, Math.max(ttl, this.#settings.retention), mayBeDuplicated);
  }

  #remember(what: Abandoned): void {
    this.#lately.set(what.id, what);
    if (this.#lately.size > GIVEN_UP_MAX) {
      this.#lately.delete(this.#lately.keys().next().value as string);
    }
  }

  /** A grant was pushed that no acquisition waits for: it is released if it was given up here. */
  refuse({ id, left, token }: GrantPush): void {
    const what = this.#lately.get(id);
    if (what === undefined || what.tokens?.include(token) === false) return;
    this.withdraw(what, Math.min(left / 1000, LEASE_MAX), false);
  }
}
