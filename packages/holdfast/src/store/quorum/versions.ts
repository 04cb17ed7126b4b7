/** The versions that a process may use for a swap, and what it knows of the ballots of a key. */
import type { Message } from '../register/register.js';
import type { QuorumRecord } from './record.js';

/** The most keys with a version. A version that is dropped costs one more read. */
const KEYS_MAX = 2000;

/** A version that may be used for one swap. */
export interface Open {
  readonly version: string;
  readonly base: QuorumRecord;
  /** The ballot under which `base` was accepted, `''` if there is none. */
  readonly accepted: string;
  /** Messages of a change that this version completes. */
  readonly again: readonly Message[];
  /** True if a majority has accepted the state. */
  readonly settled: boolean;
  /** The greatest fence that the servers of the majority know of any key; 0: no read was made. */
  readonly mark: number;
}

/** A map that drops the entry which was set longest ago. */
export class Recent<T> extends Map<string, T> {
  override set(key: string, value: T): this {
    this.delete(key);
    super.set(key, value);
    if (this.size <= KEYS_MAX) return this;
    for (const oldest of this.keys()) {
      this.delete(oldest);
      break;
    }
    return this;
  }
}

export class Versions {
  readonly #open = new Recent<Open>();
  /** The latest ballots that other processes handed over. */
  readonly #handed = new Recent<string>();

  /** Takes a version for its only use; `undefined` if it is not the current one. */
  take(key: string, version: string): Open | undefined {
    const open = this.#open.get(key);
    this.#open.delete(key);
    return open?.version === version ? open : undefined;
  }

  put(key: string, open: Open): Open {
    this.#open.set(key, open);
    return open;
  }

  drop(key: string, version?: string): void {
    if (version === undefined || this.#open.get(key)?.version === version) this.#open.delete(key);
  }

  /** Puts a version that was handed over. False if there is a newer one. */
  handOver(key: string, open: Open): boolean {
    const { version } = open;
    const handed = this.#handed.get(key) ?? '';
    if (version <= handed) return false;
    this.#handed.set(key, version);
    if (version <= (this.#open.get(key)?.version ?? '')) return false;
    this.put(key, open);
    return true;
  }

  /** The version with which this process may change a key without a read. */
  of(key: string): string | undefined {
    return this.#open.get(key)?.version;
  }
}
