/** Connections of the demo. */
import { Holdfast } from 'holdfast';
import { Redis } from 'ioredis';

export interface Connection {
  readonly holdfast: Holdfast;
  close(): Promise<void>;
}

const PATIENCE_MS = 4000;
/** Keys are forgotten so soon after the demo; nothing of it stays in the server. */
const RETENTION_MS = 3000;

/** The part of an address that may be shown: there may be a password in it. */
export function hostOf(url: string): string {
  const { protocol, host } = URL.canParse(url) ? new URL(url) : { protocol: '', host: '' };
  if (!/^rediss?:$/.test(protocol) || host === '') {
    throw new Error('--redis takes an address as redis://127.0.0.1:6379');
  }
  return host;
}

/** Resolves when the server has answered. Rejects with what is wrong, in words. */
export async function connect(url: string, prefix: string, label: string): Promise<Connection> {
  const host = hostOf(url);
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  let trouble: Error | undefined;
  redis.on('error', (error: Error) => {
    trouble ??= error;
  });
  const late = setTimeout(() => {
    trouble ??= new Error(`no answer within ${PATIENCE_MS / 1000} s`);
    redis.disconnect();
  }, PATIENCE_MS);
  try {
    await redis.connect();
    await redis.ping();
  } catch (error) {
    redis.disconnect();
    const { message } = trouble ?? (error as Error);
    throw new Error(`cannot use the server at ${host}: ${message}`, { cause: error });
  } finally {
    clearTimeout(late);
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
