/** Connections of the demo. */
import { Holdfast } from 'holdfast';
import { Redis } from 'ioredis';

export interface Connection {
  readonly holdfast: Holdfast;
  close(): Promise<void>;
}

const TIMEOUT_MS = 4000;
/** A short retention, so that no key of the demo remains on the server. */
const RETENTION_MS = 3000;

/** The host and port of a URL, safe to print: the URL may contain a password. */
export function hostOf(url: string): string {
  const { protocol, host } = URL.canParse(url) ? new URL(url) : { protocol: '', host: '' };
  if (!/^rediss?:$/.test(protocol) || host === '') {
    throw new Error('--redis needs a URL such as redis://127.0.0.1:6379');
  }
  return host;
}

/** Resolves when the server has answered. Rejects with a readable error. */
export async function connect(url: string, prefix: string, label: string): Promise<Connection> {
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
  const holdfast = new Holdfast(redis, { prefix, label, retention: RETENTION_MS });
  return {
    holdfast,
    async close() {
      await holdfast.close({ grace: 0 });
      redis.disconnect();
    },
  };
}
