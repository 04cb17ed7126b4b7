/**
 * A cluster of three members of etcd. Each process reaches each member through a proxy of its own,
 * which also tells it the time of the member; the members reach each other through proxies.
 */
import { mkdirSync } from 'node:fs';
import { type Etcd, startEtcd, startServer } from 'holdfast-testkit';
import { etcd } from 'holdfast-etcd';
import { historyOf } from '../settings.js';
import { closeAll, type Route, RUNNER, type Scenario } from '../scenario.js';
import { ticketsOf } from '../tickets.js';
import { HttpProxy } from './http-proxy.js';
import { PeerProxies } from './peer-proxy.js';
import { keyOf, post } from './requests.js';

const MEMBERS = 3;

/** The clock of the first member, which can be wrong. */
export interface WrongClock {
  /** By how many ms it is ahead of the machine's clock. */
  offset: number;
}

export interface EtcdScenario extends Scenario {
  readonly cluster: Etcd;
  readonly peers: PeerProxies;
  readonly wrong: WrongClock;
}

interface Status {
  readonly header: { readonly member_id: string };
  readonly leader?: string;
}

export function statusOf(endpoint: string): Promise<Status> {
  return post<Status>(endpoint, 'maintenance/status', {});
}

export async function startEtcdScenario(processes: number, folder: string): Promise<EtcdScenario> {
  mkdirSync(folder, { recursive: true });
  const open: AsyncDisposable[] = [];
  try {
    const peers = new PeerProxies();
    open.push(peers);
    const cluster = await startEtcd({ members: MEMBERS, peerPort: (port) => peers.add(port) });
    open.push(cluster);
    const { endpoints, version } = cluster;
    const [endpoint = ''] = endpoints;
    const statuses = await Promise.all(endpoints.map(statusOf));
    peers.ids = statuses.map(({ header }) => BigInt(header.member_id).toString(16));
    const resource = await startServer({ server: 'redis' });
    open.push(resource);
    // it does not matter, from the beginning
    const wrong: WrongClock = { offset: 4000 };
    const gatesOf = async (): Promise<HttpProxy[]> => {
      const clockOf = (at: number) => () => Date.now() + (at === 0 ? wrong.offset : 0);
      const gates = endpoints.map((member, at) => HttpProxy.start(member, clockOf(at)));
      const started = await Promise.all(gates);
      open.push(...started);
      return started;
    };
    const own = (await gatesOf()).map(({ url }) => url);
    const routes: Route[] = [];
    while (routes.length < processes) {
      const gates = await gatesOf();
      const urls = gates.map(({ url }) => url);
      const { url: resourceUrl } = resource;
      routes.push({ urls, resourceUrl, prefix: [], wire: undefined, proxies: [], gates });
    }
    return {
      ...{ store: 'etcd', version: `etcd ${version}, ${MEMBERS} members`, forgets: false },
      ...{ cluster, peers, wrong, resource, clock: undefined, routes, folder },
      history: historyOf(folder, RUNNER),
      open: async () => ({ store: etcd(own), close: () => undefined }),
      tickets: async (k) => {
        type Found = { readonly kvs?: readonly { readonly value: string }[] };
        const { kvs = [] } = await post<Found>(endpoint, 'kv/range', { key: keyOf(k) });
        return ticketsOf(Buffer.from(kvs[0]?.value ?? '', 'base64').toString());
      },
      close: () => closeAll(open),
    };
  } catch (error) {
    await closeAll(open);
    throw error;
  }
}
