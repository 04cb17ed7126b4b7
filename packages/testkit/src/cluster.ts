/** A real cluster for tests: masters, each with replicas, on free loopback ports. */
import type { ServerName } from './binaries.js';
import { freePorts } from './ports.js';
import { type Server, startServer } from './servers.js';
import { until } from './wait.js';

/** Options of `startCluster`. */
export interface ClusterOptions {
  readonly server: ServerName;
  /** Default 3. */
  readonly masters?: number;
  /** Replicas of each master. Default 0. */
  readonly replicas?: number;
  /** Ms without an answer after which a node counts as failed. Default 1000. */
  readonly nodeTimeout?: number;
  /** Further arguments of the servers. */
  readonly args?: readonly string[];
  /** The environment of each server, by its place in `nodes`. */
  readonly envOf?: (at: number) => Readonly<Record<string, string>>;
}

/** A running cluster. `await using` stops it. */
export interface Cluster extends AsyncDisposable {
  /** The servers that were started as masters: server n has the nth part of the slots. */
  readonly masters: readonly Server[];
  readonly replicas: readonly Server[];
  readonly nodes: readonly Server[];
  /** The master that owns a slot at the moment, as its own view says. */
  ownerOf(slot: number): Promise<Server>;
  /** Moves one slot with its keys to another master, key by key. */
  moveSlot(slot: number, to: Server): Promise<void>;
  /** Begins to move one slot, with its keys or without. `moveSlot` ends the move. */
  halfMoveSlot(slot: number, to: Server, keysToo: boolean): Promise<void>;
  /** Moves one slot to another master with all its keys at once. Valkey 9 has this. */
  migrateSlot(slot: number, to: Server): Promise<void>;
  /** Waits until all nodes agree that the cluster works. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

export const SLOTS = 16_384;

/** Starts a cluster, and resolves when every node sees it complete. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { server, masters: count = 3, replicas: each = 0, nodeTimeout = 1000, args = [] } = options;
  const total = count * (1 + each);
  const buses = await freePorts(total);
  const nodes = await Promise.all(
    buses.map((bus, at) =>
      startServer({
        server,
        env: options.envOf?.(at) ?? {},
        args: [
          ...['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf'],
          ...['--cluster-port', `${bus}`, '--cluster-node-timeout', `${nodeTimeout}`],
          ...['--cluster-require-full-coverage', 'no', '--cluster-announce-ip', '127.0.0.1'],
          ...['--cluster-replica-validity-factor', '0', '--repl-diskless-sync-delay', '0'],
          ...args,
        ],
      }),
    ),
  );
  const masters = nodes.slice(0, count);
  const replicas = nodes.slice(count);
  const cluster: Cluster = {
    ...{ masters, replicas, nodes },
    ownerOf: (slot) => ownerOf(nodes, slot),
    moveSlot: (slot, to) => moveSlot(nodes, slot, to),
    halfMoveSlot: (slot, to, keysToo) => halfMoveSlot(nodes, slot, { to, keysToo }),
    migrateSlot: (slot, to) => migrateSlot(nodes, slot, to),
    settled: () => settled(nodes, masters.length),
    stop: async () => void (await Promise.all(nodes.map((node) => node.stop()))),
    [Symbol.asyncDispose]: () => cluster.stop(),
  };
  try {
    await join(masters, replicas, buses);
    await cluster.settled();
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

async function join(masters: Server[], replicas: Server[], buses: number[]): Promise<void> {
  const all = [...masters, ...replicas];
  for (const [at, master] of masters.entries()) {
    const [from, to] = [at, at + 1].map((n) => Math.floor((n * SLOTS) / masters.length));
    await master.command('CLUSTER', 'ADDSLOTSRANGE', from as number, (to as number) - 1);
    await master.command('CLUSTER', 'SET-CONFIG-EPOCH', at + 1);
  }
  const [first] = masters as [Server];
  for (const [at, { host, port }] of all.entries()) {
    if (at > 0) await first.command('CLUSTER', 'MEET', host, port, buses[at] as number);
  }
  for (const [at, replica] of replicas.entries()) {
    const master = masters[at % masters.length] as Server;
    const id = await idOf(master);
    const known = async (): Promise<boolean> =>
      String(await replica.command('CLUSTER', 'NODES')).includes(id);
    await until(known, { within: 15_000, every: 20 });
    await replica.command('CLUSTER', 'REPLICATE', id);
  }
}

async function idOf(node: Server): Promise<string> {
  return String(await node.command('CLUSTER', 'MYID'));
}

/** Every running node sees all slots served, and every replica is connected to its master. */
async function settled(nodes: readonly Server[], masters: number): Promise<void> {
  const complete = async (node: Server): Promise<boolean> => {
    const info = String(await node.command('CLUSTER', 'INFO'));
    const field = (name: string): string | undefined =>
      new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
    const sees = field('cluster_state') === 'ok' && field('cluster_slots_ok') === `${SLOTS}`;
    const knows = field('cluster_known_nodes') === `${nodes.length}`;
    const role = String(await node.command('INFO', 'replication'));
    const linked = !role.includes('role:slave') || role.includes('master_link_status:up');
    return sees && knows && field('cluster_size') === `${masters}` && linked;
  };
  for (const node of nodes) {
    const what = `the cluster is complete in the view of port ${node.port}`;
    await until(() => complete(node), { within: 30_000, every: 20, what });
  }
}

async function ownerOf(nodes: readonly Server[], slot: number): Promise<Server> {
  for (const node of nodes) {
    const lines = await node
      .command('CLUSTER', 'NODES')
      .then(String)
      .catch(() => '');
    const own = lines.split('\n').find((line) => line.includes('myself'));
    const [, , , , , , , , ...ranges] = own?.split(' ') ?? [];
    const has = ranges.some((range) => {
      const [from, to = from] = range.split('-').map(Number);
      return slot >= (from as number) && slot <= (to as number);
    });
    if (has) return node;
  }
  throw new Error(`no node owns slot ${slot}`);
}

/** The steps of `redis-cli --cluster reshard` for one slot. */
async function moveSlot(nodes: readonly Server[], slot: number, to: Server): Promise<void> {
  const from = await ownerOf(nodes, slot);
  if (from === to) return;
  await halfMoveSlot(nodes, slot, { to, keysToo: true });
  const target = await idOf(to);
  await to.command('CLUSTER', 'SETSLOT', slot, 'NODE', target);
  await from.command('CLUSTER', 'SETSLOT', slot, 'NODE', target);
  for (const node of nodes) {
    const role = String(await node.command('INFO', 'replication').catch(() => ''));
    if (!role.includes('role:master') || node === from || node === to) continue;
    await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', target);
  }
}

async function halfMoveSlot(
  nodes: readonly Server[],
  slot: number,
  { to, keysToo }: { to: Server; keysToo: boolean },
): Promise<void> {
  const from = await ownerOf(nodes, slot);
  await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', await idOf(from));
  await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', await idOf(to));
  while (keysToo) {
    const keys = (await from.command('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[];
    if (keys.length === 0) break;
    for (const key of keys) await from.command('MIGRATE', to.host, to.port, key, 0, 5000);
  }
}

async function migrateSlot(nodes: readonly Server[], slot: number, to: Server): Promise<void> {
  const from = await ownerOf(nodes, slot);
  const range = ['SLOTSRANGE', slot, slot] as const;
  await from.command('CLUSTER', 'MIGRATESLOTS', ...range, 'NODE', await idOf(to));
  const what = `slot ${slot} is at port ${to.port}`;
  await until(async () => (await ownerOf(nodes, slot)) === to, { within: 15_000, what });
}
