import { isForCluster, scanMasters, UnknownNode } from './cluster.js';
import { attempt, prefixOf } from './common.js';
import { isErrorReply } from './errors.js';
import { hasOwnCalls } from './ioredis-command.js';
import { byMethod, type IoredisLike } from './ioredis.js';
import { type IoredisSettings, subscribeShard } from './ioredis-subscription.js';
import { mapped, type NatMap } from './nat-map.js';
import type { ClientPort, ScriptCall } from './port.js';
import { slotOf } from './hash-slot.js';
import { ioredisState } from './ioredis-state.js';
import { scanPage } from './scan.js';

/** A cluster client of ioredis 5 or 6: `new Cluster([…])`. */
export interface IoredisClusterLike {
  readonly isCluster: boolean;
  readonly options: IoredisSettings & { readonly natMap?: NatMap | undefined };
  /** The master first. Slots without nodes are holes. */
  readonly slots: readonly (readonly string[] | undefined)[];
  nodes(role?: 'all' | 'master'): readonly object[];
  refreshSlotsCache(callback: () => void): void;
  evalsha(sha: string, numkeys: number, ...keysAndArgs: string[]): Promise<unknown>;
  eval(source: string, numkeys: number, ...keysAndArgs: string[]): Promise<unknown>;
  connect(): Promise<unknown>;
  on(event: '+node', listener: (node: object) => void): unknown;
  on(event: 'ready' | 'close' | 'end', listener: () => void): unknown;
  off(event: 'ready' | 'close' | 'end', listener: () => void): unknown;
}

type Node = Pick<IoredisLike, 'scan' | 'duplicate' | 'evalsha' | 'eval'> & {
  readonly options: IoredisSettings & { readonly host: string; readonly port: number };
  readonly status?: string;
  readonly stream?: { cork?(): void; uncork?(): void };
  on(event: 'close', listener: () => void): unknown;
};

export function ioredisClusterPort(client: IoredisClusterLike): ClientPort {
  const nodeAt = (address: string): Node => {
    const nodes = client.nodes('all') as readonly Node[];
    const node = nodes.find((one) => addressOf(one) === address);
    if (node === undefined) throw new UnknownNode(address);
    return node;
  };
  const readyAt = readyNodes(client);
  const reached = reachedAs(client);
  const masterOf = (slot: number): string | undefined => {
    const master = client.slots[slot]?.[0];
    return master && reached(master);
  };
  // after a redirection, the new master is in the slots before it is in the list
  const addresses = (): string[] => [...new Set(mastersOf(client.slots).map(reached))];
  const lostConnections = countLost(client);
  const routed = ({ sha, keys, args }: ScriptCall): Promise<unknown> =>
    attempt(() => client.evalsha(sha, keys.length, ...keys, ...args));
  const settings = client.options as Settings;
  const keyPrefix = prefixOf(settings.keyPrefix);
  // the client takes it as its own, if it has no other; the nodes' clients add it by themselves
  const added = prefixOf(settings.redisOptions?.keyPrefix);
  // the nodes' clients do not collect the commands of a turn
  const changesKeys = hasOwnCalls(client);
  const takesAddress =
    settings.enableAutoPipelining !== true && (added === '' || added === keyPrefix) && !changesKeys;
  const sender: Sender = {
    ...{ readyAt, routed, keyPrefix, added },
    masterOf: takesAddress ? masterOf : undefined,
  };
  return {
    name: 'ioredis',
    client,
    keyPrefix,
    writesLater: client.options.enableAutoPipelining === true,

    evalsha(calls: readonly ScriptCall[]): Promise<unknown>[] {
      return sendDirect(sender, calls);
    },

    eval: (...call) => sendText(client, readyAt, call),

    scan: (cursor, ...page) =>
      scanMasters(addresses(), cursor, async (address, at) =>
        scanPage(byMethod(nodeAt(address)), at, ...page),
      ),

    subscribe: () => Promise.reject(new Error('a cluster client cannot subscribe')),

    // the client repeats pending commands at the end of a connection
    connection: lostConnections,

    isReply: isErrorReply,

    state: () => ioredisState(client, { path: 'cluster' }),

    cluster: {
      ...{ takesAddress, changesKeys, triesAgain: !takesAddress },
      masters: addresses,
      masterOf,
      refresh: () => refresh(client),
      subscribe: async (address, channel, listener) =>
        subscribeShard(nodeAt(address), channel, listener),
    },
  };
}

/** The events that end an attempt to connect. */
const CONNECTED = ['ready', 'close', 'end'] as const;

/** Never rejects. A client with `lazyConnect` begins to connect. */
async function refresh(client: IoredisClusterLike): Promise<void> {
  const { status } = client as { status?: string };
  if (status === undefined || status === 'ready') {
    // a silent node costs one second
    return new Promise((resolve) => client.refreshSlotsCache(resolve));
  }
  if (status === 'wait')
    return client.connect().then(
      () => undefined,
      () => undefined,
    );
  if (status === 'end') return undefined;
  return new Promise((resolve) => {
    const done = (): void => {
      for (const event of CONNECTED) client.off(event, done);
      resolve();
    };
    for (const event of CONNECTED) client.on(event, done);
  });
}

/** Most slots have the master of the one before. */
function mastersOf(slots: IoredisClusterLike['slots']): string[] {
  const masters = new Set<string>();
  let last: string | undefined;
  for (const nodes of slots) {
    const master = nodes?.[0];
    if (master === undefined || master === last) continue;
    masters.add(master);
    last = master;
  }
  return [...masters];
}

/**
 * The connected client of a master, kept by address.
 */
function readyNodes(client: IoredisClusterLike): (address: string) => Node | undefined {
  let known = new Map<string, Node>();
  return (address) => {
    if (address === '') return undefined;
    const node = known.get(address);
    if (node?.status === 'ready') return node;
    const nodes = client.nodes() as readonly Node[];
    known = new Map(nodes.map((one) => [addressOf(one), one]));
    const found = known.get(address);
    return found?.status === 'ready' ? found : undefined;
  };
}

/**
 * A redirection leaves an address without `natMap` in all slots of a master, until the client
 * reads them again.
 */
function reachedAs(client: IoredisClusterLike): (address: string) => string {
  const { natMap } = client.options;
  let known = new Set<string>();
  return (address) => {
    if (!natMap || known.has(address)) return address;
    known = new Set((client.nodes('all') as readonly Node[]).map(addressOf));
    if (known.has(address)) return address;
    const at = address.lastIndexOf(':');
    return addressOf({
      options: mapped(natMap, address.slice(0, at), Number(address.slice(at + 1))),
    });
  };
}

const addressOf = ({ options: { host, port } }: Pick<Node, 'options'>): string => `${host}:${port}`;

function sendText(
  client: IoredisClusterLike,
  readyAt: (address: string) => Node | undefined,
  [source, keys, args, { at } = {}]: Parameters<ClientPort['eval']>,
): Promise<unknown> {
  return attempt(() => {
    const node = at === undefined ? client : readyAt(at);
    if (node === undefined) throw new UnknownNode(at as string);
    return node.eval(source, keys.length, ...keys, ...args);
  });
}

interface Settings {
  readonly keyPrefix?: unknown;
  readonly enableAutoPipelining?: unknown;
  readonly redisOptions?: { readonly keyPrefix?: unknown };
}

interface Sender {
  readonly readyAt: (address: string) => Node | undefined;
  readonly keyPrefix: string;
  /** What the nodes' clients add: the same, or nothing. */
  readonly added: string;
  /** `undefined` if only the cluster's client can send calls with keys. */
  readonly masterOf: ((slot: number) => string | undefined) | undefined;
  readonly routed: (call: ScriptCall) => Promise<unknown>;
}

/**
 * Sends each call with its node's client, in one write a node: the client's own routing costs about
 * as much as the command. A call that the node does not execute, or whose connection ends, goes to
 * the cluster's client, unless the call names its node. No other call is sent twice: the second
 * would find nothing, and that would be believed.
 */
function sendDirect(
  { readyAt, masterOf, routed, keyPrefix, added }: Sender,
  calls: readonly ScriptCall[],
): Promise<unknown>[] {
  const corked = new Set<NonNullable<Node['stream']>>();
  const again = (call: ScriptCall) => (error: unknown) => {
    // a command after the client's time limit is still on its way
    if (isLost(error) || isForCluster(call, error)) return routed(call);
    throw error;
  };
  try {
    return calls.map((call) => {
      const { at, sha, args } = call;
      const keys = keyPrefix === added ? call.keys : call.keys.map((key) => keyPrefix + key);
      const node = readyAt(at ?? masterOf?.(slotOf(`${keyPrefix}${call.keys[0]}`)) ?? '');
      if (node === undefined) {
        return at === undefined ? routed(call) : Promise.reject(new UnknownNode(at));
      }
      const { stream } = node;
      if (calls.length > 1 && stream?.cork !== undefined && !corked.has(stream)) {
        corked.add(stream);
        stream.cork();
      }
      const sent = attempt(() => node.evalsha(sha, keys.length, ...keys, ...args));
      return at === undefined ? sent.catch(again(call)) : sent;
    });
  } finally {
    for (const stream of corked) stream.uncork?.();
  }
}

const LOST = 'Connection is closed.';

function isLost(error: unknown): boolean {
  return error instanceof Error && error.message === LOST;
}

function countLost(client: IoredisClusterLike): () => number {
  let lost = 0;
  const watch = (node: object): void => {
    (node as Node).on('close', () => {
      lost += 1;
    });
  };
  for (const node of client.nodes('all')) watch(node);
  client.on('+node', watch);
  return () => lost;
}
