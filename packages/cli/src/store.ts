/** Opens the store that the options name. */
import {
  Holdfast,
  type HoldfastOptions,
  isHoldfastError,
  quorum,
  type RedisClient,
} from 'holdfast';
import { Cluster } from 'ioredis';
import { interrupted, type Signals } from './child/signals.js';
import { databaseAt, isDatabase } from './databases.js';
import { notConnected, usage } from './failure.js';
import { keepAlive } from './keep-alive.js';
import { CONNECT_MS, type Link, linkTo } from './urls.js';
import { inWords } from './view/words.js';

/** The options with which a command names the store. */
export interface StoreOptions {
  readonly url: readonly string[];
  readonly prefix?: string;
  readonly table?: string;
  readonly durable?: boolean;
  readonly restartGuard?: number;
}

/** A connected store. */
export interface OpenStore {
  readonly holdfast: Holdfast;
  /** Closes everything. Locks that are still held are released. */
  readonly close: () => Promise<void>;
}

export interface Opening {
  /**
   * Called before anything connects: it creates the locks of the command, so that a wrong key is a
   * usage error without a server too.
   */
  readonly check?: (holdfast: Holdfast) => unknown;
  /** The first signal that ends programs ends the connecting. */
  readonly signals?: Signals;
}

const TABLE_FORM = 'give a URL of PostgreSQL, or leave --table out';
const DEFAULT_URL = 'redis://127.0.0.1:6379';
const CLOSE_MS = 3000;

/**
 * Connects to the servers. Several URLs make a quorum.
 * @throws a failure if a URL is wrong, if too few servers can be used, or if a signal came; the
 *   error of `check`
 */
export async function openStore(
  options: StoreOptions,
  settings: HoldfastOptions = {},
  opening: Opening = {},
): Promise<OpenStore> {
  const urls = urlsOf(options);
  const several = urls.length > 1;
  const { durable, restartGuard, prefix } = options;
  if (!several && (durable !== undefined || restartGuard !== undefined)) {
    throw usage('--durable and --restart-guard are for several servers', 'give --url three times');
  }
  const all = { ...settings, ...(prefix !== undefined && { prefix }), grace: 0 };
  if (urls.some(isDatabase)) return openDatabase(urls, options, { settings: all, opening });
  if (options.table !== undefined) throw usage('--table is for a database', TABLE_FORM);
  const links = urls.map(linkTo);
  if (several && links.some(({ client }) => client instanceof Cluster)) {
    for (const { client } of links) client.disconnect();
    throw usage('a cluster cannot be a member of a quorum', 'give --url once for a cluster');
  }
  const clients = links.map(({ client }) => client as RedisClient);
  try {
    const where = several
      ? quorum(clients, {
          ...(durable !== undefined && { durable }),
          ...(restartGuard !== undefined && { restartGuard }),
        })
      : (clients[0] as RedisClient);
    const holdfast = new Holdfast(where, all);
    opening.check?.(holdfast);
    await unlessStopped(connect(links), opening);
    const stops = links.map(({ client }) => keepAlive(client));
    const stop = (): void => {
      for (const one of stops) one();
    };
    return { holdfast, close: () => close(holdfast, links, stop) };
  } catch (error) {
    for (const { client } of links) client.disconnect();
    throw error;
  }
}

/** Opens the store of one database, and waits for its first answer. */
async function openDatabase(
  urls: readonly string[],
  { table }: StoreOptions,
  { settings, opening }: { readonly settings: HoldfastOptions; readonly opening: Opening },
): Promise<OpenStore> {
  if (urls.length > 1) {
    throw usage('a database cannot be a member of a quorum', 'give --url once for a database');
  }
  const { store, name } = await databaseAt(urls[0] as string, table);
  const holdfast = new Holdfast(store, settings);
  const end = (): Promise<void> => within(holdfast.close());
  try {
    opening.check?.(holdfast);
    await unlessStopped(holdfast.ready(), opening);
  } catch (error) {
    // nothing is held: the end of the program does not wait for it
    void end();
    if (!isHoldfastError(error, 'HOLDFAST_UNREACHABLE')) throw error;
    throw notConnected(name, reasonOf(error.cause));
  }
  return { holdfast, close: end };
}

/** @throws the failure of `connecting`, or that for a signal that comes before its end */
async function unlessStopped(connecting: Promise<unknown>, { signals }: Opening): Promise<void> {
  if (signals === undefined) {
    await connecting;
    return;
  }
  await Promise.race([connecting, signals.ended]);
  const stopped = interrupted(signals, 'the connecting');
  if (stopped !== undefined) throw stopped;
}

function urlsOf({ url }: StoreOptions): readonly string[] {
  if (url.length > 0) return url;
  const { REDIS_URL = '' } = process.env;
  // a comma is also between the hosts of Sentinel
  const given = REDIS_URL.split(/\s+|,(?=\/|\w+(?:\+\w+)?:\/\/)/).filter((one) => one !== '');
  return given.length > 0 ? given : [DEFAULT_URL];
}

/** Waits until a majority of the servers can be used. */
async function connect(links: readonly Link[]): Promise<void> {
  const results = await Promise.all(links.map(connectTo));
  const failed = results.filter((reason) => reason !== undefined);
  if (failed.length * 2 < links.length) return;
  const at = results.findIndex((reason) => reason !== undefined);
  throw notConnected((links[at] as Link).name, results[at] as string);
}

/** Resolves to the reason why the server cannot be used, or to `undefined`. */
async function connectTo({ client }: Link): Promise<string | undefined> {
  let reason: string | undefined;
  const listener = (error: Error): void => {
    reason ??= reasonOf(error);
  };
  // without a listener, the client prints its errors
  client.on('error', () => undefined);
  client.on('error', listener);
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      reason ??= `no answer within ${inWords(CONNECT_MS)}`;
      resolve();
    }, CONNECT_MS);
  });
  const connected = client.connect().catch((error: unknown) => {
    reason ??= reasonOf(error);
  });
  await Promise.race([connected, silence]);
  clearTimeout(timer);
  client.off('error', listener);
  return reason;
}

/** The error of a cluster has that of a node, which says more. */
function reasonOf(error: unknown): string {
  const { lastNodeError, message = String(error) } = (error ?? {}) as {
    readonly message?: string;
    readonly lastNodeError?: Error | null;
  };
  return lastNodeError?.message ?? message;
}

async function close(holdfast: Holdfast, links: readonly Link[], stop: () => void): Promise<void> {
  await within(holdfast.close());
  stop();
  for (const { client } of links) client.disconnect();
}

/** Waits until it has ended, but not for long. */
async function within(closing: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, CLOSE_MS);
  });
  await Promise.race([closing.catch(() => undefined), limit]);
  clearTimeout(timer);
}
