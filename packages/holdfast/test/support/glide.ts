/** Clients of valkey-glide, and backends with them. */
import {
  type BaseClientConfiguration,
  Decoder,
  GlideClient,
  type GlideClientConfiguration,
  GlideClusterClient,
  Logger,
  ProtocolVersion,
} from '@valkey/valkey-glide';
import { type Cluster, type Server, type ServerName, startCluster } from 'holdfast-testkit';
import { afterAll } from 'vitest';
import { type Adapter, type Opened, opened, type Where } from '../server/clients.support.js';
import { type Backend, Made, serverOf } from './backends.js';
import { patient } from './patient.js';

// the client prints each error of the server
Logger.init('off');

type Place = Pick<Server, 'host' | 'port'>;

/** As an application would set it: the default of 250 ms is short for a busy machine. */
const PATIENT = { requestTimeout: 2000 } as const;

export async function openGlide(
  { host, port }: Place,
  extra: Partial<GlideClientConfiguration> = {},
): Promise<Opened> {
  const addresses = [{ host, port }];
  return glide(await GlideClient.createClient({ addresses, ...PATIENT, ...extra }));
}

export async function openGlideCluster(
  nodes: readonly Place[],
  extra: Partial<BaseClientConfiguration> = {},
): Promise<Opened> {
  const addresses = nodes.map(({ host, port }) => ({ host, port }));
  return glide(await GlideClusterClient.createClient({ addresses, ...PATIENT, ...extra }));
}

function glide(client: GlideClient | GlideClusterClient): Opened {
  return opened(client, async () => client.close());
}

/** The options of a client for the suites of all clients. */
function optionsOf(where: Where): Partial<GlideClientConfiguration> {
  const { ca, db, impatient, name, offline, password, protocol, username } = where;
  return {
    protocol: protocol === 3 ? ProtocolVersion.RESP3 : ProtocolVersion.RESP2,
    ...(db !== undefined && { databaseId: db }),
    ...(name !== undefined && { clientName: name }),
    ...(offline === true && { lazyConnect: true }),
    ...(impatient === true && { requestTimeout: 300 }),
    ...(password !== undefined && { credentials: { username: username ?? 'default', password } }),
    ...(ca !== undefined && {
      useTLS: true,
      advancedConfiguration: { tlsAdvancedConfiguration: { rootCertificates: ca } },
    }),
    ...where.extra,
  };
}

/** For the suites of the contract of clients/port.ts. */
export const GLIDE: Adapter = {
  name: 'glide',
  protocols: [3, 2],
  keyPrefix: false,
  quirks: [['bytes', { defaultDecoder: Decoder.Bytes }]],
  open: (where) => openGlide(where, optionsOf(where)),
  program: () => '',
};

/** One server. */
export function glideOn(server: ServerName): Backend {
  const made = new Made();
  let running: Server | undefined;
  const admin = (): Server => {
    if (running === undefined) throw new Error('the server has not been started');
    return running;
  };
  return {
    name: `glide on ${server}`,
    ...{ store: 'redis', server },
    make: (options) => made.on(openGlide(admin()), patient(options)),
    get admin() {
      return admin();
    },
    start: async () => {
      running = await serverOf(server);
    },
    close: () => made.close(),
  };
}

/** A cluster of three masters. */
export function glideOnCluster(server: ServerName): Backend {
  const made = new Made();
  let running: Promise<Cluster> | undefined;
  afterAll(async () => (await running)?.stop());
  return {
    name: `glide on a cluster of ${server}`,
    ...{ store: 'cluster', server },
    make: async (options = {}) => {
      const { nodes } = (await running) as Cluster;
      return made.on(openGlideCluster(nodes), patient(options));
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
