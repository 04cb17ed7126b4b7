/** Which client the program gave, and how statements are run with it. */
import { Connection } from './connection.js';
import type { Driver, Opener, Row } from './driver.js';
import { badOption } from 'holdfast/register';
import type { Settings } from './options.js';
import { Prepared } from './prepared.js';
import {
  functionDriver,
  isPglite,
  type Pglite,
  pgliteDriver,
  type QueryFunction,
} from './other-clients.js';
import {
  isPgClient,
  isPgPool,
  type PgClient,
  pgOpener,
  type PgPool,
  type PgSettings,
  sourceFrom,
  sourceOf,
} from './pg.js';
import { isPostgresJs, type PostgresJs, postgresJsOpener, settingsOf } from './postgres-js.js';

/** The clients that this package knows, a URL, the settings of `pg`, or a function. */
export type PostgresSource =
  | PgPool
  | PgClient
  | PostgresJs
  | Pglite
  | QueryFunction
  | PgSettings
  | string;

const EXPECTED =
  'a Pool or a Client of pg, a client of postgres.js, PGlite, a URL, or a function (text, values)';

const noUrl = (listen: string, client: string): Error =>
  badOption('listen', `left out for ${client}`, listen);

/** @param option the name of the argument, for errors */
export function driverFor(given: unknown, settings: Settings, option = 'client'): Driver {
  const { timeout, listen } = settings;
  if (typeof given === 'string') {
    if (!/^postgres(ql)?:\/\//.test(given)) throw badOption(option, EXPECTED, given);
    return pgDriver(sourceFrom({ connectionString: given }), settings);
  }
  if (typeof given === 'function') {
    if (isPostgresJs(given)) return postgresJsDriver(given, settings);
    if (typeof listen === 'string') throw noUrl(listen, 'a function');
    return functionDriver(given as QueryFunction, timeout);
  }
  if (typeof given !== 'object' || given === null) throw badOption(option, EXPECTED, given);
  if (isPgPool(given) || isPgClient(given)) return pgDriver(sourceOf(given), settings);
  if (isPglite(given)) {
    if (typeof listen === 'string') throw noUrl(listen, 'PGlite');
    return pgliteDriver(given, timeout, listen);
  }
  const isSettings = ['connectionString', 'host', 'database', 'user'].some((name) => name in given);
  if (isSettings && !('query' in given)) return pgDriver(sourceFrom(given), settings);
  throw badOption(option, EXPECTED, given);
}

function pgDriver(
  source: ReturnType<typeof sourceOf>,
  { timeout, listen, prepare }: Settings,
): Driver {
  const prepared = new Prepared(prepare);
  const direct =
    typeof listen === 'string'
      ? { ...source, settings: { ...source.settings, connectionString: listen } }
      : source;
  const subscribe = listen === false ? undefined : pgOpener(direct, timeout, prepared, true);
  return new Connection('pg', pgOpener(source, timeout, prepared, false), timeout, subscribe);
}

function postgresJsDriver(sql: PostgresJs, { timeout, listen, prepare }: Settings): Driver {
  const prepared = new Prepared(prepare);
  const open = postgresJsOpener(() => settingsOf(sql), false, prepared);
  const url = typeof listen === 'string' ? listen : undefined;
  const subscribe: Opener | undefined =
    listen === false ? undefined : postgresJsOpener(() => settingsOf(sql, url), true, prepared);
  return new Connection('postgres.js', open, timeout, subscribe);
}

/**
 * Runs one statement on the client of the program itself, for what the program calls on its own.
 * @param option the name of the argument, for errors
 */
export async function runOn(
  given: unknown,
  text: string,
  values: readonly string[] = [],
  option = 'client',
): Promise<readonly Row[]> {
  const result = await start(given, text, [...values], option);
  const rows = Symbol.iterator in result ? result : result.rows;
  return [...rows] as Row[];
}

function start(
  given: unknown,
  text: string,
  values: string[],
  option: string,
): ReturnType<QueryFunction> {
  if (typeof given === 'function') {
    const { unsafe } = given as { unsafe?: QueryFunction };
    // a transaction of postgres.js is a function with this method
    return typeof unsafe === 'function'
      ? unsafe(text, values)
      : (given as QueryFunction)(text, values);
  }
  const { query } = (given ?? {}) as { query?: QueryFunction };
  if (typeof query !== 'function') throw badOption(option, EXPECTED, given);
  return query.call(given, text, values);
}
