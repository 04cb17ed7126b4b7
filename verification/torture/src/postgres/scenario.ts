/**
 * One PostgreSQL server, with a clock that can be stepped. Each process reaches it through a proxy
 * of its own. The locks have a user of their own, whose rights can be taken away.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Pool } from 'pg';
import { makeClockShim, type Postgres, startPostgres, startServer } from 'holdfast-testkit';
import { postgres, tableSql } from 'holdfast-postgres';
import { historyOf } from '../settings.js';
import { closeAll, type Route, RUNNER, type Scenario } from '../scenario.js';
import { ticketsOf } from '../tickets.js';
import { WireProxy } from './wire-proxy.js';

/** The table of the locks. */
export const TABLE = 'holdfast_locks';
/** The user of the processes. */
export const USER = 'worker';

export interface PostgresScenario extends Scenario {
  readonly server: Postgres;
  /** Of the runner, as the owner of the table. */
  readonly pool: Pool;
}

export async function startPostgresScenario(
  processes: number,
  folder: string,
): Promise<PostgresScenario> {
  mkdirSync(folder, { recursive: true });
  const clock = await makeClockShim();
  const open: AsyncDisposable[] = [];
  try {
    const settings = { max_connections: '200' };
    const server = await startPostgres({ settings, env: clock?.env });
    open.push(server);
    const pool = new Pool({ ...server.connection, max: 20 });
    pool.on('error', () => undefined);
    await pool.query(tableSql());
    await pool.query(`CREATE USER ${USER}; GRANT ALL ON ${TABLE} TO ${USER}`);
    const resource = await startServer({ server: 'redis' });
    open.push(resource);
    const routes: Route[] = [];
    while (routes.length < processes) {
      const gate = await WireProxy.start(join(server.connection.host, '.s.PGSQL.5432'));
      open.push(gate);
      const urls = [`postgres://${USER}@127.0.0.1:${gate.port}/${server.connection.database}`];
      const { url: resourceUrl } = resource;
      routes.push({ urls, resourceUrl, prefix: [], wire: undefined, proxies: [], gate });
    }
    const { version } = server;
    return {
      ...{ store: 'postgres', version: `PostgreSQL ${version}`, forgets: false, server, pool },
      ...{ resource, clock, routes, folder, history: historyOf(folder, RUNNER) },
      open: async () => ({ store: postgres(pool), close: () => undefined }),
      tickets: async (k) => {
        const text = `SELECT state FROM ${TABLE} WHERE key = $1`;
        const { rows } = await pool.query<{ state: string }>(text, [`holdfast:lock:${k}`]);
        return ticketsOf(rows[0]?.state);
      },
      close: async () => {
        await pool.end().catch(() => undefined);
        await closeAll(open);
      },
    };
  } catch (error) {
    await closeAll(open);
    throw error;
  }
}
