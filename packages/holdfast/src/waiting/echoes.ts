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
import type { Returns } from './returns.js';

/** When to try again, in ms after the try before. */
const TRIES_MS = [500, 1000, 2000, 4000, 8000, 16_000];
/** Acquisitions that are followed at once; the oldest one is left alone for a further one. */
const FOLLOWED_MAX = 1000;
/** What a client takes at least to connect again and send again. */
const RECONNECT_MS = 40;

export class Echoes {
  readonly #requests: Requests;
  readonly #clock: Clock;
  readonly #retention: number;
  readonly #returns: Returns;
  readonly #followed = new Map<string, Timer>();
  #fastest = 0;
  #stopped = false;

  constructor(requests: Requests, clock: Clock, retention: number, returns: Returns) {
    this.#requests = requests;
    this.#clock = clock;
    this.#retention = retention;
    this.#returns = returns;
  }

  /** True if an answer took so long that what it answers may have been sent twice. */
  possible(took: number): boolean {
    const slow = took > this.#fastest + RECONNECT_MS;
    this.#fastest = this.#fastest === 0 ? took : Math.min(this.#fastest, took);
    return slow;
  }

  /** Gives back for a while whatever comes of an acquisition that is over. */
  follow(key: string, id: string): void {
    if (this.#stopped || this.#followed.has(id)) return;
    const [oldest] = this.#followed.keys();
    if (this.#followed.size >= FOLLOWED_MAX && oldest !== undefined) this.#forget(oldest);
    this.#tryLater(key, id, 0);
  }

  /** Tries no further, and leaves no timer. */
  stop(): void {
    this.#stopped = true;
    for (const id of [...this.#followed.keys()]) this.#forget(id);
  }

  #tryLater(key: string, id: string, tries: number): void {
    const pause = TRIES_MS[tries];
    if (pause === undefined) {
      this.#followed.delete(id);
      return;
    }
    const next = (): void => {
      this.#tryLater(key, id, tries + 1);
      if (this.#returns.has(id)) return;
      const command = { op: 'release', key, id, to: '', retention: this.#retention } as const;
      // the next try is the remedy for this one's failure
      this.#requests.send(command).catch(() => undefined);
    };
    this.#followed.set(id, this.#clock.after(pause, next, true));
  }

  #forget(id: string): void {
    this.#followed.get(id)?.cancel();
    this.#followed.delete(id);
  }
}
