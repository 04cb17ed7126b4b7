/** Connections of the demo. */
import { basename } from 'node:path';
import { Holdfast, quorum } from 'holdfast';
import { sqlite } from 'holdfast-sqlite';
import { Redis } from 'ioredis';

export interface Connection {
  readonly holdfast: Holdfast;
  close(): Promise<void>;
}

const TIMEOUT_MS = 4000;
/** A short retention, so that no key of the demo remains on the server. */
const RETENTION_MS = 3000;

/** Before the path of a file. */
const FILE = 'sqlite:';

/** The URL of locks in a file; `undefined` if it cannot be opened: there may be no client. */
export async function usableUrlOf(file: string): Promise<string | undefined> {
  const holdfast = new Holdfast(sqlite(file));
  try {
    await holdfast.ready();
    return `${FILE}${file}`;
  } catch {
    return undefined;
  } finally {
    await holdfast.close({ grace: 0 });
  }
}

/** The name of the place of the locks. */
export function placeOf(url: string): string {
  if (url.startsWith(FILE)) return `the file ${basename(url)} (SQLite), no server`;
  const urls = url.split(',');
  return urls.length === 1 ? hostOf(url) : `a quorum of ${urls.length} servers`;
}

/** The host and port of a URL, safe to print: the URL may contain a password. */
function hostOf(url: string): string {
  const { protocol, host } = URL.canParse(url) ? new URL(url) : { protocol: '', host: '' };
  if (!/^rediss?:$/.test(protocol) || host === '') {
    throw new Error('--redis needs a URL such as redis://127.0.0.1:6379');
  }
  return host;
}

/**
 * Opens a file, or connects to a server, or to the servers of a quorum.
 * @param url one URL, or several with commas between them
 */
export async function connect(url: string, prefix: string, label: string): Promise<Connection> {
  const settings = { prefix, label, retention: RETENTION_MS };
  if (url.startsWith(FILE)) {
    const holdfast = new Holdfast(sqlite(url.slice(FILE.length)), settings);
    return { holdfast, close: () => holdfast.close({ grace: 0 }) };
  }
  const clients = await Promise.all(url.split(',').map(open));
  const [redis] = clients as [Redis];
  // these servers live as long as the demo, so none of them has forgotten a vote
  const store = clients.length === 1 ? redis : quorum(clients, { durable: true });
  const holdfast = new Holdfast(store, settings);
  return {
    holdfast,
    async close() {
      await holdfast.close({ grace: 0 });
      for (const client of clients) client.disconnect();
    },
  };
}

/** Resolves when the server has answered. Rejects with a readable error. */
async function open(url: string): Promise<Redis> {
  const host = hostOf(url);
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  let failure: Error | undefined;
  redis.on('error', (error: Error) => {
    failure ??= error;
  });
  const timeout = setTimeout(() => {
    failure ??= new Error(`no answer within ${TIMEOUT_MS / 1000} s`);
    redis.disconnect();
  }, TIMEOUT_MS);
  try {
    await redis.connect();
    await redis.ping();
  } catch (error) {
    redis.disconnect();
    const { message } = failure ?? (error as Error);
    throw new Error(`cannot connect to the server at ${host}: ${message}`, { cause: error });
  } finally {
    clearTimeout(timeout);
  }
  return redis;
}
