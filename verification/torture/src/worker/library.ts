/**
 * The library that the processes lock with: the compiled copy that `HOLDFAST_DIST` names (a mutant
 * or an older version), or else this repository's own. The runner always uses its own. The packages
 * of a copy for other stores are beside it: `holdfast/dist`, `holdfast-postgres/dist`.
 */
import { pathToFileURL } from 'node:url';
import type * as holdfast from 'holdfast';
import type * as etcd from 'holdfast-etcd';
import type * as postgres from 'holdfast-postgres';
import type * as sqlite from 'holdfast-sqlite';

export interface Library extends Pick<typeof holdfast, 'Holdfast' | 'quorum'> {
  postgres(): Promise<typeof postgres>;
  sqlite(): Promise<typeof sqlite>;
  etcd(): Promise<typeof etcd>;
}

export async function loadLibrary(): Promise<Library> {
  const folder = process.env['HOLDFAST_DIST'];
  const load = async (name: string, from = name): Promise<unknown> =>
    import(folder === undefined ? name : pathToFileURL(`${folder}/${from}/index.js`).href);
  const beside = (name: string): Promise<unknown> => load(name, `../../${name}/dist`);
  const { Holdfast, quorum } = (await load('holdfast', '.')) as typeof holdfast;
  return {
    ...{ Holdfast, quorum },
    postgres: async () => (await beside('holdfast-postgres')) as typeof postgres,
    sqlite: async () => (await beside('holdfast-sqlite')) as typeof sqlite,
    etcd: async () => (await beside('holdfast-etcd')) as typeof etcd,
  };
}
