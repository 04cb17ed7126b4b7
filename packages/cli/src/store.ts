/** Opens the store that the options name. */
import { Holdfast, type HoldfastOptions, quorum, type RedisClient } from 'holdfast';
import { Redis, type RedisOptions } from 'ioredis';
import { notConnected, usage } from './failure.js';
import { inWords } from './view/words.js';

/** The options with which a command names the store. */
export interface StoreOptions {
  readonly url: readonly string[];
  readonly prefix?: string;
  readonly durable?: boolean;
  readonly restartGuard?: number;
}

/** A connected store. */
export interface OpenStore {
  readonly holdfast: Holdfast;
  /** Closes everything. Locks that are still held are released. */
  readonly close: () => Promise<void>;
}

const DEFAULT_URL = 'redis://127.0.0.1:6379';
const CONNECT_MS = 5000;
const CLOSE_MS = 3000;
const SCHEMES: Readonly<Record<string, string>> = {
  'redis:': 'redis:',
  'rediss:': 'rediss:',
  'valkey:': 'redis:',
  'valkeys:': 'rediss:',
};
const SENTINEL = 'redis+sentinel://';
const SENTINEL_FORM = `write ${SENTINEL}[user:password@]host:port,host:port/master[/database]`;
const FORMS = 'write redis://[user:password@]host[:port][/database], or rediss:// for TLS';

interface Link {
  readonly client: Redis;
  /** For messages: without the password. */
  readonly name: string;
}

/**
 * Connects to the servers. Several URLs make a quorum.
 * @throws a failure if a URL is wrong, or if too few servers can be used
 */
export async function openStore(
  options: StoreOptions,
  settings: HoldfastOptions = {},
): Promise<OpenStore> {
  const urls = urlsOf(options);
  const several = urls.length > 1;
  const { durable, restartGuard } = options;
  if (!several && (durable !== undefined || restartGuard !== undefined)) {
    throw usage('--durable and --restart-guard are for several servers', 'give --url three times');
  }
  const links = urls.map(linkTo);
  const clients = links.map(({ client }) => client as RedisClient);
  try {
    const where = several
      ? quorum(clients, {
          ...(durable !== undefined && { durable }),
          ...(restartGuard !== undefined && { restartGuard }),
        })
      : (clients[0] as RedisClient);
    const { prefix } = options;
    const all = { ...settings, ...(prefix !== undefined && { prefix }), grace: 0 };
    const holdfast = new Holdfast(where, all);
    await connect(links);
    return { holdfast, close: () => close(holdfast, links) };
  } catch (error) {
    for (const { client } of links) client.disconnect();
    throw error;
  }
}

function urlsOf({ url }: StoreOptions): readonly string[] {
  if (url.length > 0) return url;
  const { REDIS_URL = '' } = process.env;
  // a comma is also between the hosts of Sentinel
  const given = REDIS_URL.split(/\s+|,(?=\/|\w+(?:\+\w+)?:\/\/)/).filter((one) => one !== '');
  return given.length > 0 ? given : [DEFAULT_URL];
}

function linkTo(url: string): Link {
  const base = {
    lazyConnect: true,
    connectTimeout: CONNECT_MS,
    connectionName: 'holdfast-cli',
  } as const satisfies RedisOptions;
  if (url.startsWith('/')) return { client: new Redis({ ...base, path: url }), name: url };
  if (url.startsWith(SENTINEL)) {
    const settings = sentinelOf(url);
    const name = `the master ${settings.name} of Sentinel`;
    return { client: new Redis({ ...base, ...settings }), name };
  }
  const parsed = parse(url);
  const scheme = SCHEMES[parsed.protocol];
  if (scheme === undefined) throw usage(`unknown URL scheme ${parsed.protocol}`, FORMS);
  const name = `the server ${parsed.host === '' ? parsed.pathname : parsed.host}`;
  return { client: new Redis(url.replace(/^\w+:/, scheme), base), name };
}

/** The text of a URL may contain a password, so no error shows it. */
function parse(url: string): URL {
  try {
    return new URL(url);
  } catch {
    throw usage('the URL of the server cannot be parsed', FORMS);
  }
}

/** `redis+sentinel://user:password@host:26379,host:26379/master/database` */
export function sentinelOf(url: string): {
  readonly sentinels: { host: string; port: number }[];
  readonly name: string;
  readonly username?: string;
  readonly password?: string;
  readonly db?: number;
} {
  const form = /^(?:([^@/]*)@)?([^@/]+)\/([^/]+)(?:\/(\d+))?$/;
  const [, user = '', hosts, name, db] = form.exec(url.slice(SENTINEL.length)) ?? [];
  if (hosts === undefined || name === undefined) {
    throw usage('the URL of Sentinel cannot be parsed', SENTINEL_FORM);
  }
  const sentinels = hosts.split(',').map((text) => {
    const { hostname, port } = parse(`redis://${text}`);
    return { host: hostname, port: Number(port || 26_379) };
  });
  const { password, username } = parse(`redis://${user}@host`);
  return {
    sentinels,
    name: decodeURIComponent(name),
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(db !== undefined && { db: Number(db) }),
  };
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
    reason ??= error.message;
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
    reason ??= error instanceof Error ? error.message : String(error);
  });
  await Promise.race([connected, silence]);
  clearTimeout(timer);
  client.off('error', listener);
  return reason;
}

async function close(holdfast: Holdfast, links: readonly Link[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, CLOSE_MS);
  });
  await Promise.race([holdfast.close().catch(() => undefined), limit]);
  clearTimeout(timer);
  for (const { client } of links) client.disconnect();
}
