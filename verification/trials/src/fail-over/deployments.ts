/**
 * The deployments whose master is replaced: a master under Sentinel, and a cluster. The clients of
 * a trial reach each server through a proxy, so that they can be cut off from it.
 */
import type { RedisClient } from 'holdfast';
import {
  type Cluster as Nodes,
  type Proxy,
  type Replicated,
  type Server,
  type ServerName,
  SLOTS,
  sleep,
  startCluster,
  startProxy,
  startReplicated,
  until,
} from 'holdfast-testkit';
import { Cluster, Redis } from 'ioredis';
import { createCluster, createSentinel } from 'redis';
import type { ClientName, Connected } from '../support/clients.js';

interface Address {
  host: string;
  port: number;
}

/** The user of the clients. */
export interface Login {
  readonly username: string;
  password: string;
}

export interface Deployment {
  /** The replicas of the master. */
  readonly replicas: number;
  /** Whether `isolate` works here. */
  readonly isolates: boolean;
  /** The proxies between the clients and the servers. */
  readonly doors: Doors;
  /** All servers; the first one was started as the master. */
  readonly nodes: readonly Server[];
  /** A new key of the master that is replaced. */
  key(): string;
  connect(client: ClientName, login?: Login): Promise<Connected>;
  master(): Promise<Server>;
  replicasOf(master: Server): Promise<Server[]>;
  /** Waits until another server is the master. */
  successor(before: Server): Promise<Server>;
  /** Replaces the master in an orderly way, or by force if it is down. */
  replace(master: Server, how?: 'by force'): Promise<unknown>;
  /** Cuts the master off from all servers; its clients reach it. */
  isolate(master: Server): Promise<void>;
  rejoin(master: Server): Promise<void>;
  /**
   * Moves the slots of locks to another master. The moves stop half way for `pause` ms, with the
   * keys of every second slot moved. Resolves to the function that moves all back. Undefined if
   * there is one master.
   */
  readonly move?: (keys: readonly string[], pause: number) => Promise<() => Promise<void>>;
  /** Moves them half way, and stops. Undefined if there is one master. */
  readonly halfMove?: (keys: readonly string[]) => Promise<OpenSlots>;
  settled(): Promise<void>;
  stop(): Promise<void>;
}

/** Slots whose move has stopped half way. */
export interface OpenSlots {
  /** Ends the moves, and moves all back. */
  finish(): Promise<void>;
  /** The other master knows nothing of the moves any more. */
  forget(): Promise<void>;
}

/** How the servers are started. */
export interface Setup {
  readonly server: ServerName;
  /** The environment of each server, by its place in `nodes`. */
  readonly envOf?: (at: number) => Readonly<Record<string, string>>;
  /** Ms without an answer after which a server counts as down. */
  readonly downAfter?: number;
}

export type Start = (setup: Setup) => Promise<Deployment>;

/** A proxy before each server. */
export class Doors {
  readonly #proxies = new Map<string, Proxy>();

  static async before(servers: readonly Server[]): Promise<Doors> {
    const doors = new Doors();
    for (const server of servers) doors.#proxies.set(addressOf(server), await startProxy(server));
    return doors;
  }

  /** The addresses of the proxies. */
  get addresses(): Address[] {
    return [...this.#proxies.values()].map(({ host, port }) => ({ host, port }));
  }

  /**
   * The address of the proxy before a server, for the clients. A new object for each call:
   * node-redis changes it, so that connections with the same object never reconnect.
   */
  readonly map = (server: string): Address | undefined => {
    const proxy = this.#proxies.get(server);
    return proxy && { host: proxy.host, port: proxy.port };
  };

  /** Cuts a server off from its clients: without a word, or with connections that end. */
  shut(server: Server, silently: boolean): void {
    const proxy = this.#at(server);
    if (silently) return proxy.blackhole();
    proxy.refuse();
    proxy.cut();
  }

  open(server: Server): void {
    this.#at(server).heal();
  }

  /** Leads the clients of a server to another one, or back to itself. */
  lead(server: Server, to: Server): void {
    const proxy = this.#at(server);
    proxy.redirect(to);
    proxy.cut();
  }

  /** Connections die silently. `dies` is told which commands they have sent. */
  silence(dies: (hasSent: (name: string) => boolean) => boolean): void {
    for (const proxy of this.#proxies.values()) {
      proxy.silence((link) => dies((name) => proxy.hasSent(link, name)));
    }
  }

  get count(): number {
    return this.#proxies.size;
  }

  /** The connections of clients to all servers. */
  get connections(): number {
    return [...this.#proxies.values()].reduce((sum, { connections }) => sum + connections, 0);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#proxies.values()].map((proxy) => proxy.close()));
  }

  #at(server: Server): Proxy {
    return this.#proxies.get(addressOf(server)) as Proxy;
  }
}

const addressOf = ({ host, port }: Server): string => `${host}:${port}`;

let keys = 0;

/** After this time a client ends a connection that brings nothing. */
const SILENT_MS = 5000;
const PINGS = { pingInterval: 1000 };

/** The clients of a trial; the default user is for servers and sentinels. */
export const newLogin = (): Login => ({ username: 'locks', password: 'locks' });

/** For node-redis, which asks for the login of each connection. */
const provided = (login: Login): object => ({
  credentialsProvider: { type: 'async-credentials-provider', credentials: async () => login },
});

export async function sentinels(setup: Setup): Promise<Deployment> {
  const users = ['locks on >locks ~* &* +@all'];
  const all: Replicated = await startReplicated({ ...setup, users });
  const start = all.sentinels.map(({ host, port }) => ({ host, port }));
  const doors = await Doors.before(all.nodes);
  const { map } = doors;
  return {
    ...{ replicas: 2, isolates: true, doors, nodes: all.nodes },
    key: () => `key ${(keys += 1)}`,
    async connect(client, login = newLogin()) {
      if (client.startsWith('ioredis')) {
        const natMap = (address: string): Address | null => map(address) ?? null;
        const options = { sentinels: start, name: all.name, natMap };
        const redis = new Redis({ ...options, ...login, lazyConnect: true });
        const relogin = (): void => void (redis.options.password = login.password);
        return { ...(await ioredis(redis)), relogin };
      }
      const options = { name: all.name, sentinelRootNodes: start, nodeAddressMap: map };
      // without a limit, the client may wait for a frozen master
      const limits = { socket: { socketTimeout: SILENT_MS }, ...PINGS };
      const nodeClientOptions = { ...provided(login), ...limits };
      return nodeRedis(createSentinel({ ...options, nodeClientOptions }));
    },
    master: () => all.master(),
    replicasOf: async (master) => all.nodes.filter((node) => node !== master),
    successor: (before) => all.successor(before),
    replace: async () => all.sentinels[0]?.command('SENTINEL', 'FAILOVER', all.name),
    isolate: async (master) => {
      await master.command('ACL', 'SETUSER', 'default', 'off');
      await master.command('CLIENT', 'KILL', 'USER', 'default');
    },
    rejoin: async (master) => void (await master.command('ACL', 'SETUSER', 'default', 'on')),
    settled: () => all.settled(),
    stop: async () => void (await Promise.all([doors.close(), all.stop()])),
  };
}

export async function cluster({ downAfter = 1000, ...setup }: Setup): Promise<Deployment> {
  const { username, password } = newLogin();
  const user = ['--user', username, 'on', `>${password}`, '~*', '&*', '+@all'];
  const args = ['--enable-debug-command', 'yes', ...user];
  const all: Nodes = await startCluster({ ...setup, replicas: 1, nodeTimeout: downAfter, args });
  const doors = await Doors.before(all.nodes);
  const { map, addresses: start } = doors;
  const found = (except?: Server): Promise<Server> =>
    until(() => owner(all, except), { within: 60_000, every: 20, what: 'a server owns slot 0' });
  const replicasOf = async (master: Server): Promise<Server[]> => {
    const info = (node: Server): Promise<unknown> =>
      node.command('INFO', 'replication').catch(() => '');
    const infos = await Promise.all(all.nodes.map(info));
    return all.nodes.filter((_, at) => String(infos[at]).includes(`master_port:${master.port}\r`));
  };
  return {
    ...{ replicas: 1, isolates: setup.server === 'valkey', doors, nodes: all.nodes },
    key: () => {
      for (;;) {
        const key = `key ${(keys += 1)}`;
        if (slotOf(key) < Math.floor(SLOTS / 3)) return key;
      }
    },
    async connect(client, login = newLogin()) {
      if (client.startsWith('ioredis')) {
        const natMap = (address: string): Address | null => map(address) ?? null;
        const redisOptions = { ...login, socketTimeout: SILENT_MS };
        const options = { lazyConnect: true, clusterRetryStrategy: () => 50, natMap, redisOptions };
        const redis = new Cluster(start, options);
        // later connections have the options of the cluster or of a node that the client knows
        const relogin = (): void => {
          const known = redis.nodes('all').map((node) => node.options);
          for (const own of [redisOptions, ...known]) own.password = login.password;
        };
        return { ...(await ioredis(redis)), relogin };
      }
      const rootNodes = start.map((socket) => ({ socket }));
      const defaults = { ...provided(login), socket: { socketTimeout: SILENT_MS }, ...PINGS };
      return nodeRedis(createCluster({ rootNodes, nodeAddressMap: map, defaults }));
    },
    master: () => found(),
    replicasOf,
    successor: (before) => found(before),
    replace: async (master, how) => {
      const words = how === undefined ? [] : ['FORCE'];
      return (await replicasOf(master))[0]?.command('CLUSTER', 'FAILOVER', ...words);
    },
    isolate: async (master) => {
      await filter(master, { drop: -2, close: 1, stay: 1 });
      await master.command('CLIENT', 'KILL', 'TYPE', 'replica');
    },
    rejoin: (master) => filter(master, { drop: -1, close: 0, stay: 0 }),
    move: (keys, pause) => move(all, keys, pause),
    halfMove: (keys) => halfMove(all, keys),
    settled: () => all.settled(),
    stop: async () => void (await Promise.all([doors.close(), all.stop()])),
  };
}

async function move(
  all: Nodes,
  keys: readonly string[],
  pause: number,
): Promise<() => Promise<void>> {
  const slots = [...new Set(keys.map(slotOf))];
  const home = await all.ownerOf(slots[0] as number);
  const away = all.masters[1] as Server;
  if (pause > 0) {
    await halfMove(all, keys);
    await sleep(pause);
  }
  for (const slot of slots) await all.moveSlot(slot, away);
  return async () => {
    for (const slot of slots) await all.moveSlot(slot, home);
  };
}

/** The keys of every second slot move. */
async function halfMove(all: Nodes, keys: readonly string[]): Promise<OpenSlots> {
  const slots = [...new Set(keys.map(slotOf))];
  const home = await all.ownerOf(slots[0] as number);
  const away = all.masters[1] as Server;
  for (const [at, slot] of slots.entries()) await all.halfMoveSlot(slot, away, at % 2 === 0);
  const close = (slot: number, server: Server): Promise<unknown> =>
    server.command('CLUSTER', 'SETSLOT', slot, 'STABLE');
  return {
    async finish() {
      for (const to of [away, home]) for (const slot of slots) await all.moveSlot(slot, to);
    },
    async forget() {
      for (const slot of slots) await close(slot, away);
    },
  };
}

/** The messages between the nodes that one of them drops: none (-1), all (-2). */
async function filter(
  node: Server,
  { drop, close, stay }: { drop: number; close: number; stay: number },
): Promise<void> {
  await node.command('DEBUG', 'DISABLE-CLUSTER-RECONNECTION', stay);
  await node.command('DEBUG', 'CLOSE-CLUSTER-LINK-ON-PACKET-DROP', close);
  await node.command('DEBUG', 'DROP-CLUSTER-PACKET-FILTER', drop);
}

/** The master of the first slot, as its own view says. */
async function owner({ nodes }: Nodes, except?: Server): Promise<Server | undefined> {
  for (const node of nodes) {
    if (node === except) continue;
    const role = String(await node.command('ROLE').catch(() => ''));
    if (!role.startsWith('master')) continue;
    const id = String(await node.command('CLUSTER', 'MYID'));
    const lines = String(await node.command('CLUSTER', 'NODES')).split('\n');
    const own = lines.find((line) => line.startsWith(id)) ?? '';
    if (own.split(' ').some((range) => range.startsWith('0-'))) return node;
  }
  return undefined;
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

/** The slot of a lock: CRC16 (XMODEM) of its hash tag, which is its key. */
function slotOf(key: string): number {
  let crc = 0;
  for (const byte of Buffer.from(key)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++)
      crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc % SLOTS;
}
