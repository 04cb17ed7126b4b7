/** The deployments whose master is replaced: a master under Sentinel, and a cluster. */
import type { RedisClient } from 'holdfast';
import {
  type Cluster as Nodes,
  type Replicated,
  type Server,
  type ServerName,
  SLOTS,
  startCluster,
  startReplicated,
  until,
} from 'holdfast-testkit';
import { Cluster, Redis } from 'ioredis';
import { createCluster, createSentinel } from 'redis';
import type { ClientName, Connected } from '../support/clients.js';

export interface Deployment {
  /** The replicas of the master. */
  readonly replicas: number;
  /** A new key of the master that is replaced. */
  key(): string;
  connect(client: ClientName): Promise<Connected>;
  master(): Promise<Server>;
  replicasOf(master: Server): Promise<Server[]>;
  /** Waits until another server is the master. */
  successor(before: Server): Promise<Server>;
  /** Replaces the master in an orderly way. */
  replace(master: Server): Promise<unknown>;
  settled(): Promise<void>;
  stop(): Promise<void>;
}

let keys = 0;

export async function sentinels(server: ServerName): Promise<Deployment> {
  const all: Replicated = await startReplicated({ server });
  const start = all.sentinels.map(({ host, port }) => ({ host, port }));
  return {
    replicas: 2,
    key: () => `key ${(keys += 1)}`,
    connect(client) {
      if (client.startsWith('ioredis')) {
        const options = { sentinels: start, name: all.name, failoverDetector: true };
        return ioredis(new Redis({ ...options, lazyConnect: true }));
      }
      return nodeRedis(createSentinel({ name: all.name, sentinelRootNodes: start }));
    },
    master: () => all.master(),
    replicasOf: async (master) => all.nodes.filter((node) => node !== master),
    successor: (before) => all.successor(before),
    replace: async () => all.sentinels[0]?.command('SENTINEL', 'FAILOVER', all.name),
    settled: () => all.settled(),
    stop: () => all.stop(),
  };
}

export async function cluster(server: ServerName): Promise<Deployment> {
  const all: Nodes = await startCluster({ server, replicas: 1 });
  const start = all.nodes.map(({ host, port }) => ({ host, port }));
  const owner = async (except?: Server): Promise<Server | undefined> => {
    for (const node of all.nodes) {
      if (node === except) continue;
      const role = String(await node.command('ROLE').catch(() => ''));
      if (!role.startsWith('master')) continue;
      const id = String(await node.command('CLUSTER', 'MYID'));
      const lines = String(await node.command('CLUSTER', 'NODES')).split('\n');
      const own = lines.find((line) => line.startsWith(id)) ?? '';
      if (own.split(' ').some((range) => range.startsWith('0-'))) return node;
    }
    return undefined;
  };
  const found = (except?: Server): Promise<Server> =>
    until(() => owner(except), { within: 60_000, every: 20, what: 'a server owns slot 0' });
  const replicasOf = async (master: Server): Promise<Server[]> => {
    const infos = await Promise.all(all.nodes.map((node) => node.command('INFO', 'replication')));
    return all.nodes.filter((_, at) => String(infos[at]).includes(`master_port:${master.port}\r`));
  };
  return {
    replicas: 1,
    key: () => {
      for (;;) {
        const key = `key ${(keys += 1)}`;
        if (slotOf(`holdfast:{${key}}`) < Math.floor(SLOTS / 3)) return key;
      }
    },
    connect(client) {
      if (client.startsWith('ioredis')) {
        return ioredis(new Cluster(start, { lazyConnect: true, clusterRetryStrategy: () => 50 }));
      }
      return nodeRedis(createCluster({ rootNodes: start.map((socket) => ({ socket })) }));
    },
    master: () => found(),
    replicasOf,
    successor: (before) => found(before),
    replace: async (master) => (await replicasOf(master))[0]?.command('CLUSTER', 'FAILOVER'),
    settled: () => all.settled(),
    stop: () => all.stop(),
  };
}

async function ioredis(client: Redis | Cluster): Promise<Connected> {
  client.on('error', () => undefined);
  await client.connect();
  return { client, close: () => client.disconnect() };
}

async function nodeRedis(given: unknown): Promise<Connected> {
  const client = given as {
    on(event: 'error', listener: () => void): unknown;
    connect(): Promise<unknown>;
    destroy(): unknown;
  };
  client.on('error', () => undefined);
  await client.connect();
  return { client: given as RedisClient, close: () => void client.destroy() };
}

/** CRC16 (XMODEM) of the hash tag. */
function slotOf(name: string): number {
  const open = name.indexOf('{');
  const text = name.slice(open + 1, name.indexOf('}', open + 1));
  let crc = 0;
  for (const byte of Buffer.from(text)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++)
      crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc % SLOTS;
}
