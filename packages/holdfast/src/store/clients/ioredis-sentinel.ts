/**
 * Makes an ioredis client's connections leave a former master.
 *
 * ioredis asks the sentinels only when it connects, so it stays with a master that is frozen, or
 * cut off from them. Its option `failoverDetector` is no remedy: if a sentinel's message comes
 * while it looks for the master, the client ends for good.
 */
import { lookup } from 'node:dns/promises';
import type { IoredisSettings } from './ioredis-subscription.js';
import { mapped, type NatAddress, type NatMap } from './nat-map.js';

const SENTINEL_MS = 1000;

interface SentinelSettings extends IoredisSettings {
  readonly sentinels?: readonly NatAddress[] | null;
  readonly name?: string;
  readonly natMap?: NatMap | undefined;
  readonly sentinelUsername?: string | null;
  readonly sentinelPassword?: string | null;
  readonly sentinelTLS?: object;
  readonly tls?: object;
}

export interface Leaver {
  readonly options: SentinelSettings;
  readonly stream?: Partial<Stream> | undefined;
  disconnect(reconnect: boolean): void;
  duplicate(override: object): unknown;
}

interface Stream {
  readonly destroyed: boolean;
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
}

interface Sentinel {
  connect(): Promise<void>;
  disconnect(): void;
  call(...words: string[]): Promise<unknown>;
  on(event: 'error', listener: () => void): unknown;
}

const left = new WeakSet<object>();

/**
 * Most answering sentinels must agree on the master. Then connections to another server connect
 * again. Never rejects.
 */
export async function leaveFormerMaster(
  client: Leaver,
  connections: Iterable<Leaver>,
): Promise<void> {
  const { sentinels = [] } = client.options;
  const views = await Promise.all((sentinels ?? []).map((one) => masterOf(client, one)));
  const known = views.filter((view) => view !== undefined);
  for (const connection of [client, ...connections]) {
    const { stream } = connection;
    // without a remote address the client still connects, and asks the sentinels; told to end at
    // that moment, it ends for good
    if (stream === undefined || stream.destroyed !== false || left.has(stream)) continue;
    if (stream.remoteAddress === undefined) continue;
    const others = known.filter((view) => !leadsTo(stream, view)).length;
    if (others * 2 <= known.length) continue;
    left.add(stream);
    connection.disconnect(true);
  }
}

interface Master {
  readonly port: number;
  readonly hosts: readonly string[];
}

function leadsTo({ remoteAddress = '', remotePort }: Partial<Stream>, master: Master): boolean {
  return remotePort === master.port && master.hosts.includes(plain(remoteAddress));
}

/** An IPv4 address may have the form of IPv6. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');

async function masterOf(client: Leaver, sentinel: NatAddress): Promise<Master | undefined> {
  const { name = '', sentinelUsername, sentinelPassword, sentinelTLS } = client.options;
  const connection = client.duplicate({
    ...{ sentinels: undefined, host: sentinel.host, port: sentinel.port, path: undefined },
    ...{ username: sentinelUsername ?? undefined, password: sentinelPassword ?? undefined },
    ...{ tls: sentinelTLS, db: 0, keyPrefix: '', lazyConnect: true, enableReadyCheck: false },
    ...{ retryStrategy: null, reconnectOnError: null, disableClientInfo: true },
    ...{ connectTimeout: SENTINEL_MS, commandTimeout: SENTINEL_MS, connectionName: undefined },
  }) as Sentinel;
  connection.on('error', () => undefined);
  try {
    await connection.connect();
    const answer = await connection.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name);
    if (!Array.isArray(answer)) return undefined;
    const { host, port } = mapped(client.options.natMap, String(answer[0]), Number(answer[1]));
    const found = await lookup(host, { all: true });
    return { port, hosts: [host, ...found.map(({ address }) => address)].map(plain) };
  } catch {
    return undefined;
  } finally {
    connection.disconnect();
  }
}
