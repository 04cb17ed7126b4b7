import { isForCluster, scanMasters, UnknownNode } from './cluster.js';
import { attempt, prefixOf, scriptWords } from './common.js';
import { isErrorReply } from './errors.js';
import { COMMAND_OPTIONS, type NodeRedisLike } from './node-redis.js';
import { subscribeShard } from './node-redis-subscription.js';
import type { ClientPort, ScriptCall } from './port.js';
import { slotOf } from './hash-slot.js';
import { notReady } from './state.js';
import { scanPage } from './scan.js';

interface NodeLike {
  readonly address: string;
  /** There after the node's first use. */
  readonly client?: NodeRedisLike & { readonly isReady?: boolean };
}

/** A cluster client of node-redis 5 or 6: `createCluster({ rootNodes: […] })`. */
export interface NodeRedisClusterLike {
  readonly masters: readonly NodeLike[];
  readonly slots: readonly ({ readonly master: NodeLike } | undefined)[];
  nodeClient(node: never): Promise<unknown>;
  getSlotRandomNode(slot: number): unknown;
  sendCommand(
    firstKey: string,
    isReadonly: boolean,
    args: string[],
    options?: object,
  ): Promise<unknown>;
}

/**
 * node-redis reads its slots again only after a redirection, or (version 6) after five seconds
 * without a connection, and has no public method for it.
 */
interface Discovering {
  readonly _slots?: { readonly rediscover?: (startWith: object) => Promise<unknown> };
}

export function nodeRedisClusterPort(client: NodeRedisClusterLike): ClientPort {
  const keyPrefix = prefixOf(optionsOf(client)?.keyPrefix);
  const addresses = (): string[] => client.masters.map(({ address }) => address);
  const nodeAt = async (address: string): Promise<NodeRedisLike> => {
    const node = client.masters.find((one) => one.address === address);
    if (node === undefined) throw new UnknownNode(address);
    return (await client.nodeClient(node as never)) as NodeRedisLike;
  };
  const send = (
    words: string[],
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown> =>
    attempt(() => {
      const all = scriptWords(words, keyPrefix, keys, args);
      return client.sendCommand(keyPrefix + keys[0], false, all, COMMAND_OPTIONS);
    });
  return {
    name: 'node-redis',
    client,
    keyPrefix,
    writesLater: true,

    evalsha: (calls: readonly ScriptCall[]) =>
      calls.map((call) => sendDirect(client, keyPrefix, call, send)),

    eval: (source, keys, args, { at } = {}) =>
      at === undefined
        ? send(['EVAL', source], keys, args)
        : sendTo(client, at, ['EVAL', source], args),

    scan: (cursor, ...page) =>
      scanMasters(addresses(), cursor, async (address, at) => {
        const node = await nodeAt(address);
        return scanPage((words) => node.sendCommand(words, COMMAND_OPTIONS), at, ...page);
      }),

    subscribe: () => Promise.reject(new Error('a cluster client cannot subscribe')),

    // a command is repeated only after MOVED or ASK, when it was not executed
    connection: () => client,

    isReply: isErrorReply,

    state() {
      const { isOpen } = client as { isOpen?: boolean };
      if (isOpen !== false) return undefined;
      const state = 'not connected: call "await cluster.connect()" first';
      return { closed: true, text: notReady(client, state, { path: 'cluster' }) };
    },

    cluster: {
      takesAddress: true,
      masters: addresses,
      masterOf: (slot) => client.slots[slot]?.master.address,
      refresh: async (silent) => {
        const other = addresses().find((address) => address !== silent);
        if (other !== undefined) await rediscover(client, nodeAt(other)).catch(() => undefined);
      },
      subscribe: async (address, channel, listener) =>
        subscribeShard(await nodeAt(address), channel, listener),
    },
  };
}

/**
 * Sends a call with its node's client: the client's search costs as much as the command.
 * @param send sends it with the client of the cluster
 */
function sendDirect(
  client: NodeRedisClusterLike,
  keyPrefix: string,
  call: ScriptCall,
  send: (words: string[], keys: readonly string[], args: readonly string[]) => Promise<unknown>,
): Promise<unknown> {
  const { sha, keys, args, at } = call;
  if (at !== undefined) return sendTo(client, at, ['EVALSHA', sha], args);
  const routed = (): Promise<unknown> => send(['EVALSHA', sha], keys, args);
  const slotNumber = slotOf(keyPrefix + keys[0]);
  const node = client.slots[slotNumber]?.master.client;
  if (node?.isReady !== true) return routed();
  const words = scriptWords(['EVALSHA', sha], keyPrefix, keys, args);
  const sent = attempt(() => node.sendCommand(words, { ...COMMAND_OPTIONS, slotNumber }));
  return sent.catch((error: unknown) => {
    if (isForCluster(call, error)) return routed();
    throw error;
  });
}

function sendTo(
  client: NodeRedisClusterLike,
  at: string,
  words: string[],
  args: readonly string[],
): Promise<unknown> {
  return attempt(() => {
    const node = client.masters.find(({ address }) => address === at)?.client;
    if (node?.isReady !== true) throw new UnknownNode(at);
    return node.sendCommand(scriptWords(words, '', [], args), COMMAND_OPTIONS);
  });
}

async function rediscover(client: object, other: Promise<object>): Promise<void> {
  await (client as Discovering)._slots?.rediscover?.(await other);
}

function optionsOf(client: object): { readonly keyPrefix?: unknown } | undefined {
  return (client as { _options?: object })._options;
}
