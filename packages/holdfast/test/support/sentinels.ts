/** The backends on a master under Sentinel, with the Sentinel clients of every kind. */
import { type Replicated, type Server, type ServerName, startReplicated } from 'holdfast-testkit';
import { Redis as Redis6 } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { createSentinel as createSentinel6 } from 'redis';
import { createSentinel as createSentinel5 } from 'redis-5';
import { afterAll } from 'vitest';
import { portFor } from '../../src/store/clients/detect.js';
import type { RedisClient } from '../../src/index.js';
import type { Opened } from '../server/clients.support.js';
import { type Backend, type ClientName, Made } from './backends.js';
import { patient } from './patient.js';

function opened(client: RedisClient, close: () => unknown): Opened {
  const ended = async (): Promise<void> => void (await close());
  return { client, port: portFor(client), close: () => ended().catch(() => undefined) };
}

/** Settings of a client. */
export interface SentinelLogin {
  /** Of ioredis. */
  readonly failoverDetector?: boolean;
  /** Ms after which node-redis closes a connection that is silent. */
  readonly socketTimeout?: number;
  /** Of node-redis: where it reaches a server. */
  readonly map?: (address: string) => { host: string; port: number } | undefined;
}

/** Opens a client of one kind that follows the master. */
export async function openSentinel(
  kind: ClientName,
  { sentinels, name }: Pick<Replicated, 'sentinels' | 'name'>,
  { failoverDetector = false, socketTimeout, map }: SentinelLogin = {},
): Promise<Opened> {
  const start = sentinels.map(({ host, port }) => ({ host, port }));
  if (kind.startsWith('ioredis')) {
    const options = {
      ...{ sentinels: start, name, lazyConnect: true, failoverDetector },
      ...{ retryStrategy: () => 20, sentinelRetryStrategy: () => 20 },
    };
    const client = kind === 'ioredis-5' ? new Redis5(options) : new Redis6(options);
    client.on('error', () => undefined);
    await client.connect();
    return opened(client, () => client.disconnect());
  }
  const options = {
    ...{ name, sentinelRootNodes: start },
    nodeClientOptions: {
      socket: { reconnectStrategy: 20, ...(socketTimeout !== undefined && { socketTimeout }) },
      ...(socketTimeout !== undefined && { pingInterval: socketTimeout / 4 }),
    },
    ...(map !== undefined && { nodeAddressMap: map }),
  };
  const client = kind === 'node-redis-5' ? createSentinel5(options) : createSentinel6(options);
  client.on('error', () => undefined);
  await client.connect();
  return opened(client, () => client.destroy());
}

/** The store on a master under Sentinel. */
export function sentinelsOf(server: ServerName, client: ClientName): Backend {
  const made = new Made();
  let running: Promise<Replicated> | undefined;
  afterAll(async () => (await running)?.stop());
  return {
    name: 'sentinels',
    ...{ store: 'sentinel', server, client },
    make: async (options = {}) =>
      made.on(openSentinel(client, (await running) as Replicated), patient(options)),
    get admin(): Server {
      throw new Error('this deployment has several servers');
    },
    start: async () => {
      // no fail-over belongs to the suites
      running ??= startReplicated({ server, downAfter: 60_000 });
      await running;
    },
    close: () => made.close(),
  };
}
