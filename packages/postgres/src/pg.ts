/** The client `pg`: a pool, a client, or the settings of one. */
import type { Prepared } from './prepared.js';
import type { Opener, Row, Session, SessionEvents } from './driver.js';

/** A pool of `pg`. Its settings are used; its connections are not. */
export interface PgPool {
  readonly options: object;
  readonly totalCount: number;
  connect(...args: never): unknown;
  query(...args: never): unknown;
}

/** A client of `pg`. Its settings are used; its connection is not. */
export interface PgClient {
  readonly database?: string | undefined;
  connect(...args: never): unknown;
  query(...args: never): unknown;
  escapeIdentifier(text: string): string;
}

/** The settings of a connection, as `pg` takes them. */
export interface PgSettings {
  readonly connectionString?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly user?: string | undefined;
  readonly password?: unknown;
  readonly database?: string | undefined;
  readonly ssl?: unknown;
}

/** A client of `pg` that this package opens. */
interface OwnClient {
  readonly connection?: { readonly stream?: { destroy(): void } };
  connect(): Promise<unknown>;
  query(config: {
    name?: string;
    text: string;
    values: readonly string[];
  }): Promise<{ rows: Row[] }>;
  on(event: 'notification', listener: (one: { channel: string; payload?: string }) => void): void;
  on(event: 'error' | 'end', listener: (error?: unknown) => void): void;
  ref?(): void;
  unref?(): void;
  end(): Promise<void>;
}

type ClientClass = new (settings: object) => OwnClient;

/** The class of the program's clients, and their settings. */
export interface PgSource {
  readonly load: () => Promise<ClientClass>;
  readonly settings: object;
}

/** True for a pool of `pg`. */
export function isPgPool(given: object): boolean {
  const { options, Client, connect } = given as Record<string, unknown>;
  return typeof options === 'object' && typeof Client === 'function' && isFunction(connect);
}

/** True for a client of `pg`. */
export function isPgClient(given: object): boolean {
  const { connectionParameters, connect } = given as Record<string, unknown>;
  return typeof connectionParameters === 'object' && isFunction(connect);
}

const isFunction = (value: unknown): boolean => typeof value === 'function';

/** The class and the settings of a pool or a client. */
export function sourceOf(given: object): PgSource {
  const pool = given as { options: object; Client: ClientClass };
  if (isPgPool(given)) return { load: async () => pool.Client, settings: copied(pool.options) };
  const client = given as { connectionParameters: object; constructor: unknown };
  const settings = copied(client.connectionParameters);
  return { load: async () => client.constructor as ClientClass, settings };
}

/** Settings for a program that gives no client. */
export function sourceFrom(settings: object): PgSource {
  const load = async (): Promise<ClientClass> => {
    const name = 'pg';
    const { default: pg } = (await import(name)) as { default: { Client: ClientClass } };
    return pg.Client;
  };
  return { load, settings: copied(settings) };
}

/** `pg` hides the password of a pool from copies, and the settings of a pool name its limits. */
function copied(settings: object): object {
  const { password, ssl } = settings as { password?: unknown; ssl?: unknown };
  return { ...settings, ...(password !== undefined && { password }), ...(ssl ? { ssl } : {}) };
}

/**
 * Opens connections with the settings of the program.
 * @param limit the longest time to connect in ms
 * @param listens true for a connection that waits for messages
 */
export function pgOpener(
  { load, settings }: PgSource,
  limit: number,
  prepared: Prepared,
  listens: boolean,
): Opener {
  return async (events: SessionEvents): Promise<Session> => {
    const Client = await load();
    const own = { keepAlive: true, connectionTimeoutMillis: limit };
    const client = new Client({ fallback_application_name: 'holdfast', ...settings, ...own });
    client.on('error', (error) => events.ended(error));
    client.on('end', () => events.ended());
    client.on('notification', ({ channel, payload = '' }) => events.message(channel, payload));
    await client.connect();
    client.unref?.();
    // plain literals: the client copies them field by field
    const run = async (text: string, values: readonly string[], name?: string) =>
      (await client.query(name === undefined ? { text, values } : { name, text, values })).rows;
    let tail: Promise<unknown> = Promise.resolve();
    let waiting = 0;
    const busy = (isBusy: boolean): void => (isBusy ? client.ref?.() : client.unref?.());
    return {
      query: (text, values, kind) => {
        const ask = (): Promise<readonly Row[]> =>
          prepared.run(text, kind, (name) => run(text, values, name));
        if (!listens) return ask();
        // the client takes one statement at a time; a `Connection` gives one at a time
        busy(true);
        waiting += 1;
        const result = tail.then(ask);
        tail = result.catch(() => undefined).finally(() => busy(--waiting > 0));
        return result;
      },
      busy,
      end: async (dead) => {
        // the caller waits for the end
        busy(true);
        // `end` alone would wait for the server
        if (dead) client.connection?.stream?.destroy();
        await client.end().catch(() => undefined);
      },
    };
  };
}
