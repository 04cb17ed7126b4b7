/** The deployments that are measured, each with what a process of the load needs to reach it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Server,
  type ServerName,
  startCluster,
  startEtcd,
  startPostgres,
  startReplicated,
  startServer,
} from 'holdfast-testkit';

export const KINDS = [
  'one',
  'replicas',
  'quorum',
  'cluster',
  'memory',
  'postgres',
  'sqlite',
  'etcd',
] as const;
export type Kind = (typeof KINDS)[number];

/** The servers of a quorum, and the masters of a cluster. */
export const SEVERAL = 3;
/** Of the deployment with replicas: one, and each grant waits for it. */
export const REPLICAS = 1;
/** More connections than the largest load has; a server refuses more than its files allow. */
export const MAX_CLIENTS: readonly string[] = ['--maxclients', '12000'];

/** What a process of the load gets. */
export interface Address {
  readonly kind: Kind;
  readonly ports: readonly number[];
  /** Of PostgreSQL. */
  readonly connection?: { readonly host: string; readonly user: string; readonly database: string };
  /** Of SQLite: the file. */
  readonly file?: string;
  /** Of etcd. */
  readonly endpoints?: readonly string[];
}

export interface Site extends AsyncDisposable {
  readonly address: Address;
  /** Those of Redis or Valkey: empty for other stores. */
  readonly servers: readonly Server[];
  /** Those that get commands; the others are replicas. */
  readonly masters: readonly Server[];
}

/** @param count the masters of a cluster */
export async function startSite(
  kind: Kind,
  server: ServerName,
  count: number = SEVERAL,
): Promise<Site> {
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
      const cluster = await startCluster({ server, masters: count, args });
      return of(cluster.nodes, cluster.masters, cluster);
    }
    case 'memory':
      return of([], [], { [Symbol.asyncDispose]: () => Promise.resolve() });
    case 'postgres': {
      const postgres = await startPostgres({ settings: { max_connections: '300' } });
      const site = of([], [], postgres);
      return { ...site, address: { kind, ports: [], connection: postgres.connection } };
    }
    case 'sqlite': {
      const folder = mkdtempSync(join(tmpdir(), 'holdfast-scale-'));
      const remove = async (): Promise<void> => rmSync(folder, { recursive: true, force: true });
      const site = of([], [], { [Symbol.asyncDispose]: remove });
      return { ...site, address: { kind, ports: [], file: join(folder, 'locks.db') } };
    }
    case 'etcd': {
      const etcd = await startEtcd();
      const site = of([], [], etcd);
      return { ...site, address: { kind, ports: [], endpoints: etcd.endpoints } };
    }
  }
}
