/** A real PgBouncer for tests, in transaction mode. It ends with the test's process. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepare } from './binaries.js';
import { freePorts, HOST } from './ports.js';
import type { Postgres } from './postgres.js';
import { programFolder, startProgram } from './program.js';

/** A running pooler. `await using` stops it. */
export interface Pgbouncer extends AsyncDisposable {
  readonly version: string;
  /** For clients. */
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly database: string;
  };
}

/** Starts a pooler with few connections, and resolves when it takes clients. */
export async function startPgbouncer({ connection }: Postgres): Promise<Pgbouncer> {
  const { command, version } = await prepare('pgbouncer');
  const folder = programFolder('pgbouncer');
  const [port = 0] = await freePorts(1);
  const { host, user, database } = connection;
  const settings = [
    '[databases]',
    `${database} = host=${host} dbname=${database} user=${user}`,
    '[pgbouncer]',
    ...[`listen_addr = ${HOST}`, `listen_port = ${port}`, 'unix_socket_dir ='],
    ...['pool_mode = transaction', 'auth_type = any', 'default_pool_size = 3'],
    // it refuses to run as root
    ...(process.getuid?.() === 0 ? ['user = nobody'] : []),
  ];
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(file, `${settings.join('\n')}\n`, { mode: 0o644 });
  const program = await startProgram({
    ...{ name: 'pgbouncer', folder, signal: 'SIGINT' },
    command: [...command, file],
    ready: (log) => log.includes('process up') || undefined,
  });
  return {
    version,
    connection: { host: HOST, port, user, database },
    [Symbol.asyncDispose]: () => program.stop(),
  };
}
