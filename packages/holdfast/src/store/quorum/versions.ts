/** The versions that a process may use for a swap, and the ballots that it knows of a key. */
import type { Message } from '../register/register.js';
import type { Round } from './count.js';
import { decodeRecord, EMPTY, type QuorumRecord } from './record.js';

const KEYS_MAX = 2000;

export interface Open {
  readonly version: string;
  readonly base: QuorumRecord;
  readonly accepted: string;
  readonly again: readonly Message[];
  /** A majority accepted the state. */
  readonly settled: boolean;
  /** The greatest fence of any key at the majority; 0: no read was made. */
  readonly mark: number;
}

/** What the promises of a majority show. */
export function openOf(version: string, promises: Round['agreed'], majority: number): Open {
  let best: Round['agreed'][number] | undefined;
  for (const vote of promises) if (vote.ballot > (best?.ballot ?? '')) best = vote;
  const mark = Math.max(...promises.map((vote) => vote.mark));
  if (best === undefined) {
    return { version, base: EMPTY, accepted: '', again: [], settled: true, mark };
  }
  const { ballot: accepted, value } = best;
  const settled = promises.filter(({ ballot }) => ballot === accepted).length >= majority;
  const base = decodeRecord(value);
  return { version, base, accepted, again: settled ? [] : base.messages, settled, mark };
}

/** Drops the entry set longest ago. */
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
  readonly #handed = new Recent<string>();

  /** Takes a version for its only use; `undefined` if it is not current. */
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

  handOver(key: string, open: Open): boolean {
    const { version } = open;
    const handed = this.#handed.get(key) ?? '';
    if (version <= handed) return false;
    this.#handed.set(key, version);
    if (version <= (this.#open.get(key)?.version ?? '')) return false;
    this.put(key, open);
    return true;
  }

  /** A ballot with which a swap needs no read. */
  of(key: string): string | undefined {
    return this.#open.get(key)?.version;
  }
}
