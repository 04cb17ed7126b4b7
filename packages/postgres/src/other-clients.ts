/** PGlite, and any client behind a function: both run statements where the program runs its own. */
import { within } from './connection.js';
import type { Driver, Row } from './driver.js';

/** PostgreSQL inside this process. */
export interface Pglite {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  listen(channel: string, listener: (text: string) => void): Promise<(...args: never) => unknown>;
  readonly waitReady: Promise<void>;
}

/**
 * Runs one statement, each time on any connection, and never in a transaction that stays open.
 * Resolves to the rows, or to an object with them. All values are strings.
 */
export type QueryFunction = (
  text: string,
  values: string[],
) => PromiseLike<Iterable<unknown> | { readonly rows: Iterable<unknown> }>;

export function isPglite(given: object): given is Pglite {
  const { query, listen, waitReady } = given as Partial<Pglite>;
  return [query, listen].every((one) => typeof one === 'function') && waitReady !== undefined;
}

/** @param listens false if waiters are to poll */
export function pgliteDriver(db: Pglite, limit: number, listens: boolean): Driver {
  const run = async (text: string, values: readonly string[]): Promise<readonly Row[]> =>
    (await db.query(text, [...values])).rows as Row[];
  const query: Driver['query'] = (text, values) => within(limit, run(text, values));
  return {
    label: 'PGlite',
    isApart: false,
    query,
    // one program has this database, so its connection ends with the program only
    subscribe: listens
      ? async (events) => {
          const ends: (() => unknown)[] = [];
          return {
            query: async (text, values) => {
              const [, channel] = /^LISTEN (\w+)$/.exec(text) ?? [];
              if (channel === undefined)
                return text.startsWith('UNLISTEN ') ? [] : query(text, values);
              ends.push(await db.listen(channel, (one) => events.message(channel, one)));
              return [];
            },
            end: async () => void (await Promise.all(ends.splice(0).map(async (end) => end()))),
          };
        }
      : undefined,
    close: async () => undefined,
  };
}

export function functionDriver(run: QueryFunction, limit: number): Driver {
  return {
    label: 'query function',
    isApart: false,
    query: (text, values) =>
      within(
        limit,
        (async () => {
          const result = await run(text, [...values]);
          return [...(Symbol.iterator in result ? result : result.rows)] as Row[];
        })(),
      ),
    close: async () => undefined,
  };
}
