/**
 * Late duplicates: copies of a request that come after the acquisition is over.
 *
 * A client may repeat a request after a reconnect, and a connection or a proxy may still hold the
 * first copy: if the request was not answered, or its answer took as long as a reconnect and the
 * connection is not known to be the same. The store would then make a grant without a holder. So
 * the acquisition is released at growing intervals after its end: a late duplicate holds or waits
 * until the next attempt (I6), or the end of its lease; a push of its grant begins them again.
 */
import type { Clock, Timer } from '../../base/clock.js';
import type { Requests } from '../../store/requests.js';
import type { ReleaseRetrier } from './release-retrier.js';

const TRIES_MS = [500, 1000, 2000, 4000, 8000, 16_000];
const EVERY_MS = 500;
/** A further one replaces the oldest. */
const FOLLOWED_MAX = 1000;

interface Followed {
  readonly key: string;
  tries: number;
  at: number;
}

export class LateDuplicates {
  readonly #requests: Requests;
  readonly #clock: Clock;
  readonly #retention: number;
  readonly #retrier: ReleaseRetrier;
  readonly #followed = new Map<string, Followed>();
  #timer: Timer | undefined;
  #stopped = false;

  constructor(requests: Requests, clock: Clock, retention: number, retrier: ReleaseRetrier) {
    this.#requests = requests;
    this.#clock = clock;
    this.#retention = retention;
    this.#retrier = retrier;
  }

  follow(key: string, id: string): void {
    if (this.#stopped || this.#followed.has(id)) return;
    const [oldest] = this.#followed.keys();
    if (this.#followed.size >= FOLLOWED_MAX && oldest !== undefined) this.#followed.delete(oldest);
    this.#followed.set(id, { key, tries: 0, at: this.#clock.now() + (TRIES_MS[0] as number) });
    this.#plan();
  }

  stop(): void {
    this.#stopped = true;
    this.#followed.clear();
    this.#timer?.cancel();
  }

  #plan(): void {
    if (this.#timer !== undefined || this.#followed.size === 0) return;
    this.#timer = this.#clock.after(EVERY_MS, () => this.#look(), true);
  }

  #look(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    for (const [id, one] of this.#followed) {
      if (one.at > now) continue;
      one.tries += 1;
      const pause = TRIES_MS[one.tries];
      if (pause === undefined) this.#followed.delete(id);
      else one.at = now + pause;
      this.#release(one.key, id);
    }
    this.#plan();
  }

  #release(key: string, id: string): void {
    if (this.#retrier.has(id)) return;
    const retention = this.#retention;
    this.#requests
      .send({ op: 'release', key, id, unhurried: true, retention })
      .catch(() => undefined);
  }
}
