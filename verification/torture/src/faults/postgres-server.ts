/** Faults of PostgreSQL that lose no data. */
import { between, pick } from 'holdfast-trials/support/random';
import { LOCKS, OPTIONS } from '../settings.js';
import { type PostgresScenario, TABLE, USER } from '../postgres/scenario.js';
import { type Fault, mainFault } from './fault.js';

export type PostgresFault = Fault<PostgresScenario>;

/** The longest time for which a transaction of the runner waits for a lock, in ms. */
export const LOCK_MS = 500;

/** The row of a lock. */
export const rowOf = (k: string): string => `holdfast:lock:${k}`;

const frozen = mainFault<PostgresScenario>(
  'server frozen',
  [50, 2 * OPTIONS.ttl],
  ({ server }) => server.pause(),
  ({ server }) => server.resume(),
);

const killed = mainFault<PostgresScenario>(
  'server killed',
  [0, 1000],
  ({ server }) => server.kill(),
  ({ server }) => server.restart(),
);

const restarted = mainFault<PostgresScenario>(
  'server restarted',
  [0, 10],
  ({ server }) => server.restart(),
  () => undefined,
);

/** A fault that is one statement. */
function statement(kind: string, text: string): PostgresFault {
  return {
    kind,
    async run(context) {
      await context.scenario.pool.query(text);
      context.once(kind);
      return true;
    },
  };
}

const OTHERS = `FROM pg_stat_activity WHERE usename = '${USER}'`;

/** A session that is killed makes the server end all the others, and recover. */
const crashed: PostgresFault = {
  kind: 'session killed',
  async run(context, random) {
    const { rows } = await context.scenario.pool.query<{ pid: number }>(`SELECT pid ${OTHERS}`);
    if (rows.length === 0) return false;
    context.begin(this.kind);
    try {
      process.kill(pick(random, rows).pid, 'SIGKILL');
    } catch {
      // it has ended
    }
    await context.sleep(200);
    await answers(context.scenario);
    context.end(this.kind);
    return true;
  },
};

/** Waits until the server takes connections again. */
async function answers({ pool }: PostgresScenario): Promise<void> {
  for (;;) {
    try {
      await pool.query('SELECT 1');
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

const RIGHTS = ['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'ALL'];

const denied = mainFault<PostgresScenario>(
  'permission denied',
  [100, 1500],
  ({ pool }, random) => pool.query(`REVOKE ${pick(random, RIGHTS)} ON ${TABLE} FROM ${USER}`),
  ({ pool }) => pool.query(`GRANT ALL ON ${TABLE} TO ${USER}`),
);

/** New transactions only read, as on a standby or on a disk that is full. */
const readOnly = mainFault<PostgresScenario>(
  'server only reads',
  [100, 1500],
  async ({ pool }) => {
    await pool.query('ALTER SYSTEM SET default_transaction_read_only = on');
    await pool.query('SELECT pg_reload_conf()');
  },
  async ({ pool }) => {
    const client = await pool.connect();
    await client.query('SET default_transaction_read_only = off');
    await client.query('ALTER SYSTEM RESET default_transaction_read_only');
    await client.query('SELECT pg_reload_conf()');
    client.release(true);
  },
);

const crowded = mainFault<PostgresScenario>(
  'no connection left',
  [100, 1500],
  async ({ pool }) => {
    await pool.query(`ALTER ROLE ${USER} CONNECTION LIMIT 1`);
    await pool.query(`SELECT pg_terminate_backend(pid) ${OTHERS}`);
  },
  ({ pool }) => pool.query(`ALTER ROLE ${USER} CONNECTION LIMIT -1`),
);

const ROWS = `SELECT 1 FROM ${TABLE} WHERE key = ANY($1) ORDER BY key FOR`;

/** A transaction of another program reads, or locks rows or the table, for a while. */
function longTransaction(kind: string, text: string, longest: number): PostgresFault {
  return {
    kind,
    async run(context, random) {
      const client = await context.scenario.pool.connect();
      client.on('error', () => undefined);
      context.begin(kind);
      try {
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
        await client.query(`SET LOCAL lock_timeout = ${LOCK_MS}`);
        const keys = LOCKS.filter(() => random() < 0.5).map(rowOf);
        await client.query(text, text.includes('$1') ? [keys] : []);
        await context.sleep(between(random, 50, longest));
        await client.query('ROLLBACK');
      } catch {
        // the rows are in use, or the server has ended the session
      } finally {
        client.release(true);
        context.end(kind);
      }
      return true;
    },
  };
}

export const postgresServerFaults: readonly PostgresFault[] = [
  ...[frozen, killed, restarted, crashed, denied, readOnly, crowded],
  statement('pg_terminate_backend', `SELECT pg_terminate_backend(pid) ${OTHERS}`),
  statement(
    'pg_terminate_backend of listeners',
    `SELECT pg_terminate_backend(pid) ${OTHERS} AND query ~ '^LISTEN'`,
  ),
  statement('pg_cancel_backend', `SELECT pg_cancel_backend(pid) ${OTHERS}`),
  statement('VACUUM FULL', `VACUUM FULL ${TABLE}`),
  // vacuum removes no version of a row meanwhile
  longTransaction('long transaction reads', `SELECT count(*) FROM ${TABLE}`, 4000),
  longTransaction('long transaction locks rows', `${ROWS} UPDATE`, 1500),
  // as a guard does
  longTransaction('long transaction shares rows', `${ROWS} KEY SHARE`, 1500),
  longTransaction('table locked', `LOCK TABLE ${TABLE} IN EXCLUSIVE MODE`, 1500),
];
