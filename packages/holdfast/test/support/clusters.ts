/** The backends on a cluster, with the cluster clients of every kind. */
import { type Cluster, type Server, type ServerName, startCluster } from 'holdfast-testkit';
import { Cluster as Cluster6 } from 'ioredis';
import { Cluster as Cluster5 } from 'ioredis-5';
import { createCluster as createCluster6 } from 'redis';
import { createCluster as createCluster5 } from 'redis-5';
import { afterAll } from 'vitest';
import { portFor } from '../../src/store/clients/detect.js';
import type { RedisClient } from '../../src/index.js';
import type { Opened } from '../server/clients.support.js';
import { type Backend, CLIENTS, type ClientName, Made } from './backends.js';
import { patient } from './patient.js';

/** A client that its tests close. */
interface Closable {
  on(event: 'error', listener: () => void): unknown;
}

function opened(client: RedisClient & Closable, close: () => unknown): Opened {
  client.on('error', () => undefined);
  const ended = async (): Promise<void> => void (await close());
  return { client, port: portFor(client), close: () => ended().catch(() => undefined) };
}

/** A login at each node, and the prefix that the client adds to keys. */
export interface ClusterLogin {
  readonly username?: string;
  readonly password?: string;
  readonly keyPrefix?: string;
  /** Of ioredis: it adds this in the clients of nodes, and takes it as its own. */
  readonly nodePrefix?: string;
}

/** Opens a cluster client of one kind. */
export async function openCluster(
  name: ClientName,
  nodes: readonly Pick<Server, 'host' | 'port'>[],
  { keyPrefix = '', nodePrefix, ...login }: ClusterLogin = {},
): Promise<Opened> {
  const start = nodes.map(({ host, port }) => ({ host, port }));
  if (name.startsWith('ioredis')) {
    const options = {
      ...{ lazyConnect: true, ...(nodePrefix === undefined && { keyPrefix }) },
      redisOptions: { ...login, ...(nodePrefix !== undefined && { keyPrefix: nodePrefix }) },
      clusterRetryStrategy: () => 20,
    };
    const five = name === 'ioredis-5';
    const client = five ? new Cluster5(start, options) : new Cluster6(start, options);
    const one = opened(client, () => client.disconnect());
    await client.connect();
    return one;
  }
  const rootNodes = start.map((socket) => ({ socket, ...login }));
  const defaults = { socket: { reconnectStrategy: 20 }, ...login };
  const five = name === 'node-redis-5';
  const client = five
    ? createCluster5({ rootNodes, defaults })
    : createCluster6({ rootNodes, defaults, keyPrefix });
  const one = opened(client, () => client.destroy());
  await client.connect();
  return one;
}

/** The store on a cluster of three masters. Each instance has a client of the next kind. */
export function clusterOf(server: ServerName): Backend {
  const made = new Made();
  let running: Promise<Cluster> | undefined;
  let instances = 0;
  afterAll(async () => (await running)?.stop());
  return {
    name: `cluster of ${server}`,
    ...{ store: 'cluster', server },
    make: async (options = {}) => {
      const client = CLIENTS[instances++ % CLIENTS.length] as ClientName;
      const { nodes } = (await running) as Cluster;
      return made.on(openCluster(client, nodes), patient(options));
    },
    get admin(): Server {
      throw new Error('a cluster has several servers');
    },
    start: async () => {
      running ??= startCluster({ server });
      await running;
    },
    close: () => made.close(),
  };
}
