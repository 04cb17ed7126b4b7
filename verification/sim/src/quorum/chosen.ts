/**
 * The values that a majority of the servers has accepted. Only a simulator sees all servers. It
 * asserts that each chosen value continues from the one before (`fork`).
 */
import type { Engine } from '../../../../packages/holdfast/dist/engine/engine.js';
import type { QuorumRecord } from '../../../../packages/holdfast/dist/store/quorum/record.js';
import type { QuorumLibrary } from './library.js';

interface Last {
  readonly ballot: string;
  readonly record: QuorumRecord;
}

/** A record names this many changes; older ones are not named. */
const NAMED = 16;
/** The most ballots of a key whose acceptances are counted. */
const COUNTED = 200;

export class Chosen {
  readonly #library: QuorumLibrary;
  readonly #majority: number;
  readonly #report: (text: string) => void;
  readonly #last = new Map<string, Last>();
  readonly #counts = new Map<string, Map<string, Set<number>>>();

  constructor(library: QuorumLibrary, servers: number, report: (text: string) => void) {
    this.#library = library;
    this.#majority = Math.floor(servers / 2) + 1;
    this.#report = report;
  }

  /**
   * A server accepted a value. True if the value is chosen by that.
   * @param now the time of the servers, in µs
   */
  accepted(server: number, key: string, ballot: string, value: string, now: number): boolean {
    const counts = this.#counts.get(key) ?? new Map<string, Set<number>>();
    this.#counts.set(key, counts);
    const servers = counts.get(ballot) ?? new Set();
    counts.set(ballot, servers.add(server));
    if (counts.size > COUNTED) counts.delete(counts.keys().next().value as string);
    if (servers.size !== this.#majority) return false;
    const last = this.#last.get(key);
    if (last !== undefined && last.ballot > ballot) return false;
    const record = this.#library.decodeRecord(value);
    this.#last.set(key, { ballot, record });
    const [before] = last?.record.origins ?? [];
    if (last === undefined || before === undefined || last.record.keep < now) return true;
    // a value that was not chosen may have been completed, with others after it
    if (!record.origins.includes(before) && record.origins.length < NAMED)
      this.#report(`${record.origins[0]} does not continue from ${before}`);
    return true;
  }

  /** The servers with the chosen value, if it is still the one with this ballot. */
  holders(key: string, ballot: string): ReadonlySet<number> | undefined {
    if (this.#last.get(key)?.ballot !== ballot) return undefined;
    return this.#counts.get(key)?.get(ballot);
  }

  /** The engine with the chosen state of a lock. */
  engine(name: string, key: string): Engine {
    const state = this.#last.get(name)?.record.state ?? '';
    return this.#library.decode(key, state).engine;
  }
}
