/**
 * Which channels have a listener. The connection for messages has an advisory lock for each of its
 * channels, and the server releases it when the connection ends. A process that gets this lock for
 * a moment knows that the channel has no listener. Of two that ask at the same time, one may be
 * told that it has one.
 */
import type { Row } from './driver.js';
import { arrayOf } from './sql.js';

/** A channel that was alive is not asked about for so long, in ms. */
const LIVING_MS = 1000;
/** The most channels that are remembered. */
const LIVING_MAX = 1000;

/** The number of the lock of a channel, from the hexadecimal digits of its name. */
const numberOf = (name: string): string => `('x' || substr(${name}, 10, 16))::bit(64)::bigint`;

export const announced = (channel: string): string =>
  `SELECT pg_advisory_lock_shared(${numberOf(`'${channel}'`)})`;

export const withdrawn = (channel: string): string =>
  `SELECT pg_advisory_unlock_shared(${numberOf(`'${channel}'`)})`;

const IS_FREE = `SELECT pg_try_advisory_xact_lock(${numberOf('c.name')})::text AS dead
FROM unnest($1::text::text[]) WITH ORDINALITY AS c(name, n) ORDER BY c.n`;

type Query = (text: string, values: readonly string[]) => Promise<readonly Row[]>;

export class Living {
  readonly #query: Query;
  readonly #now: () => number;
  /** When a channel was last known to be alive. */
  readonly #known = new Map<string, number>();

  /** @param query runs a statement on another connection than that for messages */
  constructor(query: Query, now: () => number = () => performance.now()) {
    this.#query = query;
    this.#now = now;
  }

  /** For each channel, false if it has no listener. */
  async of(channels: readonly string[]): Promise<boolean[]> {
    const now = this.#now();
    const isKnown = (channel: string): boolean =>
      now - (this.#known.get(channel) ?? Number.NEGATIVE_INFINITY) < LIVING_MS;
    const unknown = channels.filter((channel) => !isKnown(channel));
    const dead = new Set<string>();
    if (unknown.length > 0) {
      const rows = await this.#query(IS_FREE, [arrayOf(unknown)]);
      if (this.#known.size + unknown.length > LIVING_MAX) this.#known.clear();
      for (const [at, channel] of unknown.entries()) {
        if (rows[at]?.['dead'] === 'true') dead.add(channel);
        else this.#known.set(channel, now);
      }
    }
    return channels.map((channel) => !dead.has(channel));
  }
}
