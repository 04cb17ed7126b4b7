/**
 * Single commands to single servers, for the doctor, which loads this file. It imports no other
 * adapter: a bundler would put that into another file for all programs.
 */
import type { GlideLike } from './glide.js';
import { routeTo, send as sendGlide } from './glide-commands.js';
import type { ClientPort } from './port.js';

/** See `node-redis.ts`. */
const COMMAND_OPTIONS = { timeout: undefined, typeMapping: undefined, abortSignal: undefined };

export interface ServerLink {
  /** Host and port, or a socket's path. */
  readonly address: string;
  readonly host: string;
  /** A Sentinel client that waits without a limit for a frozen server. */
  readonly mayHang?: boolean;
  /** The command has no keys: a client would add its prefix to some. */
  command(words: readonly string[]): Promise<unknown>;
}

interface Address {
  readonly host?: string;
  readonly port?: number | string;
  readonly path?: string;
}

interface Caller {
  call?(...words: string[]): Promise<unknown>;
  sendCommand?(words: readonly string[], options: object): Promise<unknown>;
  /** Only a Sentinel client of node-redis has it. */
  getMasterNode?(): Address | undefined;
  _execute?(isReadonly: boolean, use: (master: object) => Promise<unknown>): Promise<unknown>;
}

/** With this option of ioredis, the client may end for good, see `ioredis-sentinel.ts`. */
export function mayEnd({ client }: ClientPort): boolean {
  const { options } = client as { options?: { sentinels?: unknown; failoverDetector?: unknown } };
  return Boolean(options?.sentinels) && options?.failoverDetector === true;
}

export async function linksOf(port: ClientPort): Promise<ServerLink[]> {
  const { client, cluster } = port;
  // one client connects before it knows the masters
  if (cluster?.masters().length === 0) await cluster.refresh('');
  if ('customCommand' in client) return glideLinks(client as GlideLike, port);
  if (port.sentinel !== undefined) return [await masterLink(client as SentinelClient)];
  if (cluster === undefined) {
    const { address, host } = placeOf(client);
    return [{ address, host, command: async (words) => send(client, words) }];
  }
  return cluster.masters().map((address) => ({
    address,
    host: address.slice(0, address.lastIndexOf(':')),
    command: async (words) => send(await nodeAt(client, address), words),
  }));
}

interface SentinelClient {
  _execute<T>(isReadonly: boolean, use: (master: object) => Promise<T>): Promise<T>;
}

async function masterLink(client: SentinelClient): Promise<ServerLink> {
  const { address, host, mayHang } = await client._execute(false, async (master) => ({
    ...placeOf(master),
    mayHang: !(master as { options?: Timeouts }).options?.socket?.socketTimeout,
  }));
  const command = (words: readonly string[]): Promise<unknown> =>
    client._execute(false, (master) => send(master, words));
  return { address, host, mayHang, command };
}

interface Timeouts {
  readonly socket?: { readonly socketTimeout?: number };
}

function glideLinks(client: GlideLike, { cluster }: ClientPort): ServerLink[] {
  if (cluster === undefined) {
    const { config } = client as { config?: { addresses?: readonly Address[] } };
    const { host = '', port = 6379 } = config?.addresses?.[0] ?? {};
    return [{ address: `${host}:${port}`, host, command: (words) => sendGlide(client, words) }];
  }
  return cluster.masters().map((address) => {
    const route = routeTo(address);
    return { address, host: route.host, command: (words) => sendGlide(client, words, route) };
  });
}

function send(client: object, words: readonly string[]): Promise<unknown> {
  const caller = client as Caller;
  if (caller.call !== undefined) return caller.call(...words);
  if (caller.getMasterNode !== undefined) {
    const use = (master: object): Promise<unknown> => send(master, words);
    return caller._execute?.(false, use) as Promise<unknown>;
  }
  if (caller.sendCommand !== undefined) return caller.sendCommand(words, COMMAND_OPTIONS);
  throw new Error('the client cannot send such a command');
}

function placeOf(client: object): { address: string; host: string } {
  const { options = {} } = client as { options?: Address & { socket?: Address } };
  const { stream } = client as { stream?: { remoteAddress?: string; remotePort?: number } };
  const known = (client as Caller).getMasterNode?.() ?? options.socket ?? options;
  const { host = '127.0.0.1', path, port = 6379 } = known;
  if (path !== undefined && path !== null) return { address: path, host: 'this machine' };
  // with Sentinel, the options do not name the server
  const found = 'sentinels' in options && options.sentinels !== null ? stream : undefined;
  const place = found?.remoteAddress ?? host;
  return { address: `${place}:${found?.remotePort ?? port}`, host: place };
}

interface Nodes {
  readonly masters?: readonly { readonly address: string }[];
  nodes?(role: 'all'): readonly { readonly options: Address }[];
  nodeClient?(node: object): Promise<object>;
}

export async function nodeAt(cluster: Nodes, address: string): Promise<object> {
  const master = cluster.masters?.find((one) => one.address === address);
  const own = master === undefined ? undefined : await cluster.nodeClient?.(master);
  const all = cluster.nodeClient === undefined ? cluster.nodes?.('all') : [];
  const node = own ?? all?.find(({ options: { host, port } }) => `${host}:${port}` === address);
  if (node === undefined) throw new Error(`the client has no connection to ${address}`);
  return node;
}
