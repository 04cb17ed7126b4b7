/** The client `postgres` (postgres.js). */
import type { Prepared } from './prepared.js';
import type { Opener, Row, Session, SessionEvents } from './driver.js';

/** What `postgres()` of postgres.js returns. Its settings are used; its connections are not. */
export interface PostgresJs {
  readonly options: object;
  readonly unsafe: (...args: never) => unknown;
  readonly listen: (...args: never) => unknown;
  readonly end: (...args: never) => unknown;
}

interface OwnSql {
  unsafe(
    text: string,
    values: readonly string[],
    options: { readonly prepare: boolean },
  ): Promise<Iterable<Row>>;
  end(options: { timeout: number }): Promise<void>;
}

type Create = (settings: object) => OwnSql;

/** Seconds after which a connection for statements is closed, so that it does not keep Node. */
const IDLE_S = 20;
/** Seconds after which a server that cannot be reached is given up. */
const CONNECT_S = 3;

export function isPostgresJs(given: unknown): given is PostgresJs {
  const { options, unsafe, listen } = given as Partial<PostgresJs>;
  return (
    typeof given === 'function' &&
    typeof options === 'object' &&
    typeof unsafe === 'function' &&
    typeof listen === 'function'
  );
}

/** The settings of a client. With a URL, those that the client reads from it. */
export async function settingsOf(given: PostgresJs, url?: string): Promise<object> {
  if (url === undefined) return given.options;
  const create = (await load()) as unknown as (url: string, settings: object) => PostgresJs;
  const { ssl, pass } = given.options as { ssl?: unknown; pass?: unknown };
  const direct = create(url, { max: 1, ssl, pass });
  return direct.options;
}

async function load(): Promise<Create> {
  const name = 'postgres';
  const { default: create } = (await import(name)) as { default: Create };
  return create;
}

/**
 * Opens connections with the settings of the program: an instance of the client with one connection
 * each. The settings of an instance can be given to another one, as the client itself does for its
 * `listen`.
 * @param listens true for a connection that stays open
 */
export function postgresJsOpener(
  settings: () => Promise<object>,
  listens: boolean,
  prepared: Prepared,
): Opener {
  return async (events: SessionEvents): Promise<Session> => {
    const [create, given] = await Promise.all([load(), settings()]);
    const sql = create({
      ...given,
      // values are read as the server sends them
      transform: { undefined: undefined, column: {}, value: {}, row: {} },
      ...{ max: 1, prepare: true, fetch_types: false, max_lifetime: null },
      ...{ idle_timeout: listens ? null : IDLE_S, connect_timeout: CONNECT_S },
      shared: { retries: 0, typeArrayMap: {} },
      onnotify: (channel: string, text: string) => events.message(channel, text),
      onclose: () => events.ended(),
    });
    return {
      query: (text, values, kind) =>
        prepared.run(text, kind, async (name) => [
          ...(await sql.unsafe(text, values, { prepare: name !== undefined })),
        ]),
      end: () => sql.end({ timeout: 0 }).catch(() => undefined),
    };
  };
}
