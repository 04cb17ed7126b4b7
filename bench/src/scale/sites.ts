/** The deployments that are measured, each with what a process of the load needs to reach it. */
import {
  type Server,
  type ServerName,
  startCluster,
  startPostgres,
  startReplicated,
  startServer,
} from 'holdfast-testkit';

export const KINDS = ['one', 'replicas', 'quorum', 'cluster', 'memory', 'postgres'] as const;
export type Kind = (typeof KINDS)[number];

/** The servers of a quorum, and the masters of a cluster. */
export const SEVERAL = 3;
/** Of the deployment with replicas: one, and each grant waits for it. */
export const REPLICAS = 1;
/** More connections than the largest load has; a server refuses more than its files allow. */
const MAX_CLIENTS = ['--maxclients', '12000'];

/** What a process of the load gets. */
export interface Address {
  readonly kind: Kind;
  readonly ports: readonly number[];
  /** Of PostgreSQL. */
  readonly connection?: { readonly host: string; readonly user: string; readonly database: string };
}

export interface Site extends AsyncDisposable {
  readonly address: Address;
  /** Empty for the memory of a process, and for PostgreSQL. */
  readonly servers: readonly Server[];
  /** Those that get commands; the others are replicas. */
  readonly masters: readonly Server[];
}

export async function startSite(kind: Kind, server: ServerName): Promise<Site> {
  const of = (
    servers: readonly Server[],
    masters: readonly Server[],
    end: AsyncDisposable,
  ): Site => {
    const ports = masters.map(({ port }) => port);
    const stop = (): Promise<void> => Promise.resolve(end[Symbol.asyncDispose]());
    return { address: { kind, ports }, servers, masters, [Symbol.asyncDispose]: stop };
  };
  const args = [...MAX_CLIENTS];
  switch (kind) {
    case 'one': {
      const one = await startServer({ server, args });
      return of([one], [one], one);
    }
    case 'replicas': {
      const all = await startReplicated({ server, replicas: REPLICAS, sentinels: 0, args });
      return of(all.nodes, all.nodes.slice(0, 1), all);
    }
    case 'quorum': {
      const all = await Promise.all(
        Array.from({ length: SEVERAL }, () => startServer({ server, args })),
      );
      const stop = async (): Promise<void> =>
        void (await Promise.all(all.map((each) => each.stop())));
      return of(all, all, { [Symbol.asyncDispose]: stop });
    }
    case 'cluster': {
      const cluster = await startCluster({ server, masters: SEVERAL, args });
      return of(cluster.nodes, cluster.masters, cluster);
    }
    case 'memory':
      return of([], [], { [Symbol.asyncDispose]: () => Promise.resolve() });
    case 'postgres': {
      const postgres = await startPostgres({ settings: { max_connections: '100' } });
      const site = of([], [], postgres);
      return { ...site, address: { kind, ports: [], connection: postgres.connection } };
    }
  }
}
