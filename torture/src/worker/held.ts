/**
 * One attempt, from its ask to its release, as it is put on record.
 *
 * A moment is taken before the question whether the lease is held: what was true afterwards was
 * true then, however long the process was frozen in between.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, type Random } from 'holdfast-trials/support/random';
import { OPTIONS } from '../settings.js';
import { codeOf, type Play } from './play.js';

/** What every kind of lease can be seen as. */
export interface LeaseLike {
  readonly id: string;
  readonly fence: number;
  readonly held: boolean;
  /** What the release found, or the code of an error. */
  release(): Promise<string>;
}

/** What is asked for. */
export interface Asked {
  readonly k: string;
  readonly fair: boolean;
  readonly weight?: number;
  readonly capacity?: number;
  readonly owner?: string;
  readonly wait?: number;
  readonly back?: boolean;
}

const { ttl, claimWindow } = OPTIONS;
const SLICE_MS = 5;
/** What a stall may take, in ttls. */
const STALL = [0.2, 1.5] as const;

export class Held {
  readonly k: string;
  readonly a: string;
  /** It has the whole capacity: its writes are the latest. */
  alone: boolean;
  lease: LeaseLike | undefined;
  readonly #play: Play;
  readonly #capacity: number;
  /** Nothing more is on record of it: it was released, or lost. */
  #over = false;
  /** Its release is on record, and what came of it is not. */
  #leaving = false;
  /** The fence of its last write. */
  #entered = 0;

  /** Puts the ask on record: to be called before the acquisition is. */
  constructor(play: Play, { weight = 1, capacity = 1, ...asked }: Asked) {
    this.#play = play;
    this.k = asked.k;
    this.a = play.name();
    this.#capacity = capacity;
    this.alone = weight === capacity && asked.owner === undefined;
    play.note({ e: 'ask', a: this.a, weight, capacity, ...asked });
  }

  /** Waits for the acquisition; true if its lease is held. */
  async granted(acquiring: Promise<LeaseLike | null>): Promise<boolean> {
    try {
      const lease = await acquiring;
      if (lease === null) this.failed(null);
      else return this.got(lease);
    } catch (error) {
      this.failed(codeOf(error));
    }
    return false;
  }

  /** It was granted this lease, which is over if it ended while this process stood still. */
  got(lease: LeaseLike): boolean {
    this.lease = lease;
    const t = monotonic();
    const { held } = lease;
    const { id, fence } = lease;
    this.#play.note({ e: 'grant', ...this.#about, id, fence, ...(held ? {} : { held }) }, t);
    if (held) this.#play.granted();
    return held;
  }

  failed(code: string | null): void {
    this.#play.note({ e: 'fail', ...this.#about, code });
  }

  believes(): boolean {
    const t = monotonic();
    // the planted fault does not look
    const held = this.#play.given.fault === 'no-renewal' || this.lease?.held === true;
    if (held) this.#play.note({ e: 'hold', ...this.#about }, t);
    return held;
  }

  /** The lease weighs something else from here on, if it is still held. */
  turned(weight: number): void {
    const t = monotonic();
    const { lease } = this;
    if (lease?.held !== true) return;
    this.alone = weight === this.#capacity;
    this.#play.note({ e: 'weight', ...this.#about, weight, fence: lease.fence }, t);
  }

  /** Writes to the resource, for as long as it is drawn; false when the lease is over. */
  async section(random: Random, ms: number = this.#holdTime(random)): Promise<boolean> {
    const end = monotonic() + ms;
    while (this.believes()) {
      await this.use();
      if (random() < 0.0005) stall(between(random, STALL[0] * ttl, STALL[1] * ttl));
      if (!this.believes()) return false;
      const left = end - monotonic();
      if (left <= 0) return true;
      await sleep(Math.min(left, left > 100 ? 10 * SLICE_MS : SLICE_MS));
    }
    return false;
  }

  /** One write, if it has the whole capacity. */
  async use(fence: number = this.lease?.fence ?? 0): Promise<void> {
    const { resource } = this.#play;
    if (!this.alone) return;
    const sent = monotonic();
    const isFirst = this.#entered !== fence;
    this.#entered = fence;
    try {
      const write = isFirst ? resource.enter(this.k, fence) : resource.write(this.k, fence);
      const accepted = await write;
      // the lease has another fence by now, and the checker knows it by that
      if (this.lease?.fence !== fence) return;
      this.#play.note({ e: 'use', ...this.#about, fence, accepted, sent });
    } catch (error) {
      this.#play.note({ e: 'fail', ...this.#about, code: `resource: ${String(error)}` });
    }
  }

  /** Puts the release on record, before it is called. */
  leave(): void {
    if (this.#over) return;
    this.#over = true;
    const t = monotonic();
    const held = this.lease?.held === true;
    this.#play.note({ e: held ? 'release' : 'lost', ...this.#about }, t);
    this.#leaving = held;
  }

  /** Puts on record what came of it. */
  left(outcome: string): void {
    if (this.#leaving) this.#play.note({ e: 'released', ...this.#about, outcome });
    this.#leaving = false;
  }

  async release(): Promise<string> {
    this.leave();
    const outcome = (await this.lease?.release()) ?? 'never held';
    this.left(outcome);
    return outcome;
  }

  get #about(): { readonly k: string; readonly a: string } {
    return { k: this.k, a: this.a };
  }

  /** Mostly short, sometimes longer than the window of a claim, now and then than the ttl. */
  #holdTime(random: Random): number {
    // with a fault planted there has to be occasion for it in the short time of a test
    const kind = random() / (this.#play.given.fault === undefined ? 1 : 20);
    if (kind < 0.005) return between(random, ttl, 2 * ttl);
    if (kind < 0.04) return between(random, claimWindow / 2, 1.5 * claimWindow);
    return between(random, 0, 10);
  }
}

/** The event loop stands still. */
export function stall(ms: number): void {
  const end = monotonic() + ms;
  while (monotonic() < end);
}

interface Released {
  readonly id: string;
  readonly fence: number;
  readonly held: boolean;
  release(): Promise<string>;
}

/** A lease of the library, whose release never rejects. */
export function seen(lease: Released | null): LeaseLike | null {
  if (lease === null) return null;
  return {
    get id() {
      return lease.id;
    },
    get fence() {
      return lease.fence;
    },
    get held() {
      return lease.held;
    },
    release: () => lease.release().catch(codeOf),
  };
}
