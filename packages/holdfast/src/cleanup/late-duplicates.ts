/**
 * Echoes: copies of a request that arrive when the acquisition is over.
 *
 * A request that was not answered, or only after as long as a client takes to connect again and to
 * send it once more, may be carried out later, by a connection or a proxy that still had it. The
 * store would grant it to nobody. So what such an acquisition could have is given back again and
 * again after its end, at growing distances: an echo holds or waits until the next of these tries,
 * and no longer (I6). To repeat them is harmless (I3, I8).
 *
 * An echo that comes after the last try lives until its lease ends by itself.
 */
import type { Clock, Timer } from '../clock.js';
import type { Requests } from '../store/requests.js';
import type { ReleaseRetrier } from './release-retrier.js';

/** When to try again, in ms after the try before. */
const TRIES_MS = [500, 1000, 2000, 4000, 8000, 16_000];
/** One timer looks after them all, this often while there are any. */
const EVERY_MS = 500;
/** Acquisitions that are followed at once; the oldest one is left alone for a further one. */
const FOLLOWED_MAX = 1000;
/** What a client takes at least to connect again and send again. */
const RECONNECT_MS = 40;
/** Answers after which the fastest of them tells how far the server is. */
const ANSWERS_MIN = 10;

/** An acquisition that is over. */
interface Followed {
  readonly key: string;
  tries: number;
  /** When the next try is due. */
  at: number;
}

export class LateDuplicates {
  readonly #requests: Requests;
  readonly #clock: Clock;
  readonly #retention: number;
  readonly #retrier: ReleaseRetrier;
  readonly #followed = new Map<string, Followed>();
  #timer: Timer | undefined;
  #fastest = Number.POSITIVE_INFINITY;
  #answers = 0;
  #stopped = false;

  constructor(requests: Requests, clock: Clock, retention: number, retrier: ReleaseRetrier) {
    this.#requests = requests;
    this.#clock = clock;
    this.#retention = retention;
    this.#retrier = retrier;
  }

  /** True if an answer took so long that what it answers may have been sent twice. */
  possible(took: number): boolean {
    const usual = this.#answers < ANSWERS_MIN ? 0 : this.#fastest;
    this.#answers += 1;
    this.#fastest = Math.min(this.#fastest, took);
    return took > usual + RECONNECT_MS;
  }

  /** Gives back for a while whatever comes of an acquisition that is over. */
  follow(key: string, id: string): void {
    if (this.#stopped || this.#followed.has(id)) return;
    const [oldest] = this.#followed.keys();
    if (this.#followed.size >= FOLLOWED_MAX && oldest !== undefined) this.#followed.delete(oldest);
    this.#followed.set(id, { key, tries: 0, at: this.#clock.now() + (TRIES_MS[0] as number) });
    this.#plan();
  }

  /** Tries no further, and leaves no timer. */
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
    const command = { op: 'release', key, id, to: '', retention: this.#retention } as const;
    // the next try is the remedy for this one's failure
    this.#requests.send(command).catch(() => undefined);
  }
}
