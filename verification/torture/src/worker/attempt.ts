/**
 * One acquisition attempt from its ask to its release, and its events in the history.
 *
 * The time of an event is read before `lease.held`. If `held` is true afterwards, it was true at
 * that time, however long the process was frozen in between.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { stall } from 'holdfast-testkit';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, type Random } from 'holdfast-trials/support/random';
import { codeOf, type Workload } from './workload.js';

/** The view of a lease that all kinds of leases have in common. */
export interface LeaseLike {
  readonly id: string;
  readonly fence: number;
  readonly held: boolean;
  /** The outcome of the release, or the code of an error. */
  release(): Promise<string>;
}

/** The fields of the `ask` event. */
export interface AttemptOptions {
  readonly k: string;
  readonly fair: boolean;
  readonly weight?: number;
  readonly capacity?: number;
  readonly owner?: string;
  readonly wait?: number;
  readonly back?: boolean;
}

const SLICE_MS = 5;
/** Shortest and longest stall, in ttls. */
const STALL = [0.2, 1.5] as const;

export class Attempt {
  readonly k: string;
  readonly a: string;
  /** It holds the whole capacity, so its fence is the greatest while it holds. */
  alone: boolean;
  lease: LeaseLike | undefined;
  readonly #workload: Workload;
  readonly #capacity: number;
  /** Its release or loss is noted. */
  #over = false;
  /** Its release is noted, and the outcome of the release is not. */
  #releasing = false;
  /** The fence of its last write. */
  #entered = 0;

  /** Notes the ask. Create the attempt before the acquisition is called. */
  constructor(workload: Workload, { weight = 1, capacity = 1, ...options }: AttemptOptions) {
    this.#workload = workload;
    this.k = options.k;
    this.a = workload.name();
    this.#capacity = capacity;
    this.alone = weight === capacity && options.owner === undefined;
    workload.note({ e: 'ask', a: this.a, weight, capacity, ...options });
  }

  /** Waits for the acquisition; true if its lease is held. */
  async granted(acquiring: Promise<LeaseLike | null>): Promise<boolean> {
    try {
      const lease = await acquiring;
      if (lease === null) this.noteFailure(null);
      else return this.noteGrant(lease);
    } catch (error) {
      this.noteFailure(codeOf(error));
    }
    return false;
  }

  /** Notes the grant. False if the lease ended already, while the process was frozen. */
  noteGrant(lease: LeaseLike): boolean {
    this.lease = lease;
    const t = monotonic();
    const { held } = lease;
    const { id, fence } = lease;
    this.#workload.note({ e: 'grant', ...this.#about, id, fence, ...(held ? {} : { held }) }, t);
    if (held) this.#workload.granted();
    return held;
  }

  noteFailure(code: string | null): void {
    this.#workload.note({ e: 'fail', ...this.#about, code });
  }

  /** Notes a `hold` if the lease is held. */
  isHeld(): boolean {
    const t = monotonic();
    // the planted fault does not check the lease
    const held = this.#workload.given.fault === 'no-renewal' || this.lease?.held === true;
    if (held) this.#workload.note({ e: 'hold', ...this.#about }, t);
    return held;
  }

  /**
   * Notes that the lease has another weight. Also while the lease is in doubt: it may be held again
   * later, and it then has the new weight.
   */
  noteWeight(weight: number): void {
    const { lease } = this;
    if (lease === undefined) return;
    const t = monotonic();
    const { held } = lease;
    const { fence } = lease;
    this.alone = weight === this.#capacity;
    const doubt = held ? {} : { held };
    this.#workload.note({ e: 'weight', ...this.#about, weight, fence, ...doubt }, t);
  }

  /** Writes to the resource for `ms`; returns false when the lease is over. */
  async section(random: Random, ms: number = this.#holdTime(random)): Promise<boolean> {
    const { ttl } = this.#workload.terms;
    const end = monotonic() + ms;
    while (this.isHeld()) {
      await this.use();
      if (random() < 0.0005) stall(between(random, STALL[0] * ttl, STALL[1] * ttl));
      if (!this.isHeld()) return false;
      const remaining = end - monotonic();
      if (remaining <= 0) return true;
      await sleep(Math.min(remaining, remaining > 100 ? 10 * SLICE_MS : SLICE_MS));
    }
    return false;
  }

  /** Writes once, if the lease has the whole capacity. */
  async use(fence: number = this.lease?.fence ?? 0): Promise<void> {
    const { resource } = this.#workload;
    if (!this.alone) return;
    const sent = monotonic();
    const isFirst = this.#entered !== fence;
    this.#entered = fence;
    try {
      const write = isFirst ? resource.enter(this.k, fence) : resource.write(this.k, fence);
      const accepted = await write;
      // the lease has another fence by now, and the checker knows only that one
      if (this.lease?.fence !== fence) return;
      this.#workload.note({ e: 'use', ...this.#about, fence, accepted, sent });
    } catch (error) {
      this.#workload.note({ e: 'fail', ...this.#about, code: `resource: ${String(error)}` });
    }
  }

  /** Notes the release. Call it before the release itself. */
  noteRelease(): void {
    if (this.#over) return;
    this.#over = true;
    const t = monotonic();
    const held = this.lease?.held === true;
    this.#workload.note({ e: held ? 'release' : 'lost', ...this.#about }, t);
    this.#releasing = held;
  }

  /** Notes the outcome of the release. */
  noteOutcome(outcome: string): void {
    if (this.#releasing) this.#workload.note({ e: 'released', ...this.#about, outcome });
    this.#releasing = false;
  }

  async release(): Promise<string> {
    this.noteRelease();
    const outcome = (await this.lease?.release()) ?? 'never held';
    this.noteOutcome(outcome);
    return outcome;
  }

  get #about(): { readonly k: string; readonly a: string } {
    return { k: this.k, a: this.a };
  }

  /** Mostly short, sometimes longer than the claim window, rarely longer than the ttl. */
  #holdTime(random: Random): number {
    const { ttl, claimWindow } = this.#workload.terms;
    // with a planted fault long holds are frequent, so that a short test finds it
    const kind = random() / (this.#workload.given.fault === undefined ? 1 : 20);
    if (kind < 0.005) return between(random, ttl, 2 * ttl);
    if (kind < 0.04) return between(random, claimWindow / 2, 1.5 * claimWindow);
    return between(random, 0, 10);
  }
}

interface LibraryLease {
  readonly id: string;
  readonly fence: number;
  readonly held: boolean;
  release(): Promise<string>;
}

/** Wraps a lease of the library so that its release never rejects. */
export function leaseView(lease: LibraryLease | null): LeaseLike | null {
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
