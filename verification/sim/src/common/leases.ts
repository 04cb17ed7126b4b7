/**
 * What is judged in every world with a store of its own: the leases in which processes believe, and
 * what they leave behind. It asserts:
 *
 * - `belief`: the leases in which processes believe fit the capacity (I1, I7);
 * - `fence`: a grant's fence is above all earlier ones (I2);
 * - `dropped`: no lease is reported as gone while the state of the store has it;
 * - `ghost`: at the end nothing holds or waits (I6).
 */
import type { Resource } from '../../../../packages/holdfast/dist/engine/resource.js';
import type { Holdfast, Lease } from '../../../../packages/holdfast/dist/index.js';
import type { Process } from '../world/process.js';

export interface Violation {
  readonly kind: string;
  readonly at: number;
  readonly text: string;
}

/** A process with the library, until it crashes. */
export interface Client {
  readonly process: Process;
  readonly holdfast: Holdfast;
  readonly prefix: string;
}

/** A lease in which a process believes. */
export interface Belief {
  readonly lease: Lease;
  readonly weight: number;
  readonly client: Client;
  /** True while something else than the lease excludes others. */
  readonly guarded?: () => boolean;
  /** It has been handed over, so its fence is not a new one. */
  readonly isAdopted?: boolean;
}

/** What processes have left behind of a key. */
export interface Left {
  readonly prefix: string;
  readonly name: string;
  readonly key: string;
  readonly text: string;
}

interface Key {
  readonly prefix: string;
  readonly name: string;
  readonly capacity: number;
  readonly beliefs: Set<Belief>;
  fence: number;
}

/** The world that is judged. */
export interface Judged {
  readonly clients: readonly Client[];
  /** The clock of the store, in µs. */
  readonly time: number;
  readonly prefixes: readonly string[];
  report(kind: string, text: string): void;
  /** The state of a lock; `undefined` if there is none, or if the store has forgotten it. */
  state(prefix: string, name: string): Resource | undefined;
}

export class Leases {
  grants = 0;
  readonly #world: Judged;
  readonly #keys = new Map<string, Key>();
  /** By the key, `''` for all of them: grants with fences up to this are not judged. */
  readonly #excused = new Map<string, number>();

  constructor(world: Judged) {
    this.#world = world;
  }

  /**
   * A fault ended leases for which nothing is promised.
   * @param fence the greatest fence of those leases
   * @param key the key with its prefix; without it, all keys
   */
  excuse(fence: number, key = ''): void {
    this.#excused.set(key, Math.max(fence, this.#excused.get(key) ?? 0));
  }

  /** A lease was granted. Returns a function to call before it is released. */
  granted(name: string, capacity: number, belief: Belief): () => void {
    const { prefix } = belief.client;
    const none = { prefix, name, capacity, beliefs: new Set<Belief>(), fence: 0 };
    const key: Key = this.#keys.get(prefix + name) ?? none;
    this.#keys.set(prefix + name, key);
    this.grants += 1;
    const { lease, weight, isAdopted } = belief;
    if (lease.held && weight === capacity && isAdopted !== true) {
      if (lease.fence <= key.fence && !this.#isExcused(key, lease))
        this.#world.report('fence', `${lease.fence} after ${key.fence}`);
      key.fence = Math.max(key.fence, lease.fence);
    }
    key.beliefs.add(belief);
    lease.signal.addEventListener('abort', () => this.#lost(key, belief), { once: true });
    this.look();
    return () => {
      this.look();
      key.beliefs.delete(belief);
    };
  }

  /** A process ended without notice. */
  crashed(client: Client): void {
    for (const { beliefs } of this.#keys.values()) {
      for (const belief of beliefs) if (belief.client === client) beliefs.delete(belief);
    }
  }

  /** Compares the leases in which processes believe with the capacity. */
  look(): void {
    for (const [name, key] of this.#keys) {
      const { capacity, beliefs } = key;
      let used = 0;
      for (const { lease, weight, guarded } of beliefs)
        if ((lease.held || guarded?.() === true) && !this.#isExcused(key, lease)) used += weight;
      if (used <= capacity) continue;
      const ids = [...beliefs].map(({ lease }) => lease.id).join(' ');
      this.#world.report('belief', `${used} of ${capacity} of ${name}: ${ids}`);
    }
  }

  /** At the end, no process has a lease or a place in a queue. */
  last(names: readonly string[]): void {
    for (const { key, text } of this.left(names)) this.#world.report('ghost', `${key} ${text}`);
  }

  /** The leases and places that living processes still have. */
  *left(names: readonly string[]): Iterable<Left> {
    const { clients, prefixes, time } = this.#world;
    const alive = new Set(clients.map(({ process }) => process.name));
    const isAlive = (id: string): boolean => alive.has(id.slice(0, id.lastIndexOf('.')));
    for (const [prefix, name] of names.flatMap((one) =>
      prefixes.map((two) => [two, one] as const),
    )) {
      const resource = this.#world.state(prefix, name);
      if (resource === undefined) continue;
      const holds = [...resource.holders.keys()].filter((id) => {
        return isAlive(id) && resource.leaseOf(id, time) !== undefined;
      });
      const waits = [...resource.waiters.keys()].filter(isAlive);
      if (holds.length + waits.length === 0) continue;
      const [held, waited] = [holds.join(' '), waits.join(' ')];
      const text = `is held by [${held}], and [${waited}] wait for it`;
      yield { prefix, name, key: prefix + name, text };
    }
  }

  #isExcused({ prefix, name }: Key, { fence }: Lease): boolean {
    const ofAll = this.#excused.get('') ?? 0;
    return fence <= Math.max(ofAll, this.#excused.get(prefix + name) ?? 0);
  }

  /** The time of all leases is bounded, so a lease that ends early was dropped by an error. */
  #lost(key: Key, { lease, client }: Belief): void {
    const { prefix, name } = key;
    const { message } = lease.signal.reason as Error;
    if (!client.process.alive || !message.includes('does not know it any more')) return;
    const holder = this.#world.state(prefix, name)?.leaseOf(lease.id, this.#world.time);
    if (holder === undefined || this.#isExcused(key, lease)) return;
    this.#world.report('dropped', `${lease.id} of ${name}: ${message}`);
  }
}
