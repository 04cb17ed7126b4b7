/**
 * Locks on PostgreSQL, beside bare version-checked updates, advisory locks through a pool and a
 * table of locks that waiters ask for again: uncontended pairs, hand-offs between two processes,
 * the same contention on Redis, and renewals of many leases beside one bare batched update.
 */
import { randomUUID } from 'node:crypto';
import { argv } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Holdfast } from 'holdfast';
import { createTable, postgres } from 'holdfast-postgres';
import { percentile, sleep, startPostgres, startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { Client, Pool } from 'pg';
import { printLate } from './late.js';
import { now } from './orders.js';
import { finish, handOffs, printPairs, type Take, takeTurns, type Turn } from './pairs.js';
import type { Settings } from './settings.js';

interface Connection {
  readonly host: string;
  readonly user: string;
  readonly database: string;
}

const NAMES = ['bare', 'bare, busy', 'holdfast', 'advisory', 'polled row'] as const;
/** Those of which two processes take turns. */
const LOCKS: readonly Name[] = ['holdfast', 'advisory', 'polled row'];
type Name = (typeof NAMES)[number];

/** The pauses of a waiter that asks for its row again, in ms. */
const ASK_MS = 5;
/** The work of a client before each bare update of a pair that is busy, in ms. */
const BUSY_MS = 0.04;
const LEASES = 5000;
const LEASE_MS = 10_000;

/** `npm run bench -- --postgres` */
export async function printPostgres(settings: Settings): Promise<void> {
  const { rounds, sizes } = settings;
  await using server = await startPostgres({ settings: { fsync: 'on', max_connections: '100' } });
  const { connection } = server;
  const pool = new Pool(connection);
  await createTable(pool);
  await pool.query(`CREATE TABLE rows (key TEXT PRIMARY KEY, version INT, state TEXT, until INT8)
    WITH (fillfactor = 50)`);
  console.log(`PostgreSQL ${server.version}, fsync`);
  const takes = new Map<Name, Take>();
  for (const name of NAMES) takes.set(name, await opened(name, connection));
  await printPairs(takes, ['bare'], settings);
  console.log('two processes: p50 and p99 of a hand-off, or from a NOTIFY to the other; a second');
  const ms = 1000 * rounds * sizes.seconds;
  for (const parts of [
    ['notifies', 'listens'],
    ...LOCKS.map((name) => [name, name] as const),
  ] as const) {
    const args = parts.map((part) => [part, JSON.stringify(connection), `${ms}`]);
    const { gaps } = await handOffs(fileURLToPath(import.meta.url), args);
    const [p50, p99] = [percentile(gaps, 50), percentile(gaps, 99)];
    const rate = ((1000 * gaps.length) / ms).toFixed(0);
    console.log(`  ${parts[0].padEnd(12)} ${p50.toFixed(2)} ms, ${p99.toFixed(2)} ms, ${rate}`);
  }
  await printContention(connection, ms);
  await printLate(() => new Holdfast(postgres(connection)), settings);
  await printRenewals(pool, connection);
  process.exit();
}

/** Takes the lock of a key. Resolves to its release. */
async function opened(name: Name, connection: Connection): Promise<Take> {
  if (name === 'holdfast') {
    const holdfast = new Holdfast(postgres(connection), { localHandOffs: 0 });
    return async () => {
      const lease = await holdfast.mutex('one').acquire();
      return () => lease.release();
    };
  }
  const pool = new Pool(connection);
  if (name === 'bare') return bare(pool, 0);
  if (name === 'bare, busy') return bare(pool, BUSY_MS);
  return name === 'advisory' ? advisory(pool) : polledRow(pool);
}

/**
 * Two updates of one row that name its version, as a lock and a release must make them.
 * @param ms of work before each: how much the time of a client counts
 */
async function bare(pool: Pool, ms: number): Promise<Take> {
  const client = await pool.connect();
  const key = ms === 0 ? 'bare' : 'busy';
  await client.query(`INSERT INTO rows VALUES ('${key}', 0, '') ON CONFLICT DO NOTHING`);
  let version = 0;
  const text = `UPDATE rows SET version = $1, state = $2 WHERE key = '${key}' AND version = $3`;
  const swap = async (): Promise<void> => {
    for (const end = now() + ms; now() < end; );
    const state = 'x'.repeat(200);
    await client.query({ name: 'bare', text, values: [version + 1, state, version] });
    version += 1;
  };
  return async () => {
    await swap();
    return swap;
  };
}

/** A session lock of the server. It keeps a connection for as long as it is held or waited for. */
function advisory(pool: Pool): Take {
  return async () => {
    const client = await pool.connect();
    await client.query({ name: 'lock', text: 'SELECT pg_advisory_lock(1)' });
    return async () => {
      await client.query({ name: 'unlock', text: 'SELECT pg_advisory_unlock(1)' });
      client.release();
    };
  };
}

/** A row with an owner and an end, which waiters ask for again and again, as in many frameworks. */
function polledRow(pool: Pool): Take {
  const text = `INSERT INTO rows (key, state, until) VALUES ('polled', $1, $2)
    ON CONFLICT (key) DO UPDATE SET state = excluded.state, until = excluded.until
    WHERE rows.until < $3 RETURNING key`;
  let count = 0;
  return async () => {
    const owner = `${process.pid}.${(count += 1)}`;
    for (;;) {
      const values = [owner, Date.now() + LEASE_MS, Date.now()];
      const { rowCount } = await pool.query({ name: 'take', text, values });
      if (rowCount === 1) break;
      await sleep(ASK_MS);
    }
    const leave = `DELETE FROM rows WHERE key = 'polled' AND state = $1`;
    return () => pool.query({ name: 'leave', text: leave, values: [owner] });
  };
}

/**
 * Hand-offs a second between four connections that do the least for it: the holder changes the row
 * by its version and tells the next one in the same statement, which does the same.
 */
async function leastHandOffs(connection: Connection, ms: number): Promise<number> {
  const clients = await Promise.all(
    Array.from({ length: 4 }, async (_, at) => {
      const pair = [new Client(connection), new Client(connection)] as const;
      await Promise.all(pair.map((one) => one.connect()));
      await pair[1].query(`LISTEN least${at}`);
      return pair;
    }),
  );
  const text = `UPDATE rows SET version = $1, state = $2 WHERE key = 'bare' AND version = $3
    RETURNING pg_notify($4, $5)`;
  const [[first]] = clients as [[Client, Client]];
  const { rows } = await first.query("SELECT version FROM rows WHERE key = 'bare'");
  let version = Number(rows[0].version);
  let count = 0;
  let answered: Promise<unknown> | undefined;
  const end = now() + ms;
  await new Promise<void>((resolve) => {
    const turn = async (at: number): Promise<void> => {
      if (now() >= end) return resolve();
      const values = [
        version + 1,
        'x'.repeat(600),
        version,
        `least${(at + 1) % 4}`,
        'x'.repeat(200),
      ];
      version += 1;
      count += 1;
      answered = clients[at]?.[0].query({ name: 'least', text, values });
      await answered;
    };
    for (const [at, [, listener]] of clients.entries()) {
      listener.on('notification', () => void turn(at));
    }
    void turn(0);
  });
  // the message may have come before it
  await answered;
  await Promise.all(clients.flat().map((one) => one.end()));
  return (1000 * count) / ms;
}

/** Tasks that take one lock in turns, on this store and on Redis. */
async function printContention(connection: Connection, ms: number): Promise<void> {
  const least = await leastHandOffs(connection, ms / 4);
  await using redis = await startServer({ server: 'redis' });
  const clients: Redis[] = [];
  const stores = {
    redis: () => new Holdfast(clients[clients.push(new Redis(redis.port)) - 1] as Redis),
    postgres: () => new Holdfast(postgres(connection)),
  };
  console.log(`the least hand-offs between four connections: ${least.toFixed(0)} a second`);
  console.log('on Redis and here: acquisitions a second; of them, from another instance; factors');
  for (const fair of [false, true]) {
    for (const [instances, tasks] of [
      [1, 16],
      [4, 4],
    ] as const) {
      const rates: Contended[] = [];
      for (const open of Object.values(stores)) {
        const all = Array.from({ length: instances }, open);
        await contend(all, tasks, fair, ms / 10);
        rates.push(await contend(all, tasks, fair, ms / 2));
        await Promise.all(all.map((one) => one.close()));
      }
      const [there, here] = rates as [Contended, Contended];
      const words = `${instances} x ${tasks}${fair ? ', fair' : ''}`.padEnd(12);
      const all = `${there.all.toFixed(0)}, ${here.all.toFixed(0)}`;
      const passed = `${there.passed.toFixed(0)}, ${here.passed.toFixed(0)}`;
      const of = (most: number, own: number): string => (most / own).toFixed(1);
      const floor =
        instances === 1 ? '' : `, least hand-offs ${of(least, here.passed)} times as many`;
      console.log(`  ${words} ${all}; ${passed}; Redis ${of(there.all, here.all)}${floor}`);
    }
  }
  for (const one of clients) one.disconnect();
}

/** A second: all acquisitions, and those after one of another instance. */
interface Contended {
  readonly all: number;
  readonly passed: number;
}

async function contend(
  instances: readonly Holdfast[],
  tasks: number,
  fair: boolean,
  ms: number,
): Promise<Contended> {
  let count = 0;
  let passed = 0;
  let last: Holdfast | undefined;
  const end = now() + ms;
  const loop = async (holdfast: Holdfast): Promise<void> => {
    const work = (): void => {
      count += 1;
      if (last !== holdfast) passed += 1;
      last = holdfast;
    };
    while (now() < end) await holdfast.mutex('many', { fair }).run(work);
  };
  const all = instances.flatMap((one) => Array.from({ length: tasks }, () => loop(one)));
  await Promise.all(all);
  return { all: (1000 * count) / ms, passed: (1000 * passed) / ms };
}

/** A round of renewals of many leases, beside one update of as many rows. */
async function printRenewals(pool: Pool, connection: Connection): Promise<void> {
  const holdfast = new Holdfast(postgres(connection), { ttl: LEASE_MS, requestTimeout: 8000 });
  for (let at = 0; at < LEASES; ) {
    const keys = Array.from({ length: 500 }, () => `lease:${(at += 1)}`);
    await Promise.all(keys.map((key) => holdfast.mutex(key).acquire()));
  }
  const statements = async (): Promise<number> => {
    const { rows } = await pool.query(
      'SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()',
    );
    return Number(rows[0].xact_commit);
  };
  const rounds = 5;
  const [from, before] = [await statements(), process.cpuUsage()];
  await sleep(rounds * 0.55 * LEASE_MS);
  const used = process.cpuUsage(before);
  const each = ((await statements()) - from) / rounds;
  const own = (used.user + used.system) / rounds / LEASES;
  await holdfast.close();
  await pool.query(`INSERT INTO rows SELECT 'r' || n, 0, '' FROM generate_series(1, ${LEASES}) n`);
  const text = `UPDATE rows SET version = version + 1, state = d.state
    FROM unnest($1::text[], $2::text[]) AS d(key, state) WHERE rows.key = d.key`;
  const same = 'x'.repeat(200);
  const bare = await roundsOf(pool, text, () => same, rounds);
  const jsonRow = await roundsOf(pool, text, ownText, rounds);
  console.log(`a round of renewals of ${LEASES} leases: ${each.toFixed(1)} transactions`);
  console.log(
    `CPU of a renewal ${own.toFixed(1)} µs, of a row in a bare update ${bare.toFixed(1)} µs, ` +
      `if each row has a text of its own that JSON made ${jsonRow.toFixed(1)} µs`,
  );
}

/** A row with a new version and a state of 200 characters, as no other row has it. */
function ownText(at: number): string {
  const [version, now] = [randomUUID(), Date.now() * 1000];
  const holder = [`${version}.${at}`, '', 1, 'x'.repeat(30), '{"host":"h","pid":1}', LEASE_MS];
  return JSON.stringify({ capacity: 1, fence: now, latest: now + at, holders: [holder] });
}

/** The processor time of a row in rounds of updates of 500 rows each, in µs. */
async function roundsOf(
  pool: Pool,
  text: string,
  stateOf: (at: number) => string,
  rounds: number,
): Promise<number> {
  const round = async (): Promise<void> => {
    for (let at = 0; at < LEASES; at += 500) {
      const some = Array.from({ length: 500 }, (_, n) => `r${at + n + 1}`);
      const states = some.map((_, n) => stateOf(at + n));
      await pool.query({ name: 'many', text, values: [some, states] });
    }
  };
  await round();
  const start = process.cpuUsage();
  for (let count = 0; count < rounds; count++) await round();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / rounds / LEASES;
}

/** A process that sends a message every 5 ms. */
async function notifies(connection: Connection, ms: number): Promise<Turn[]> {
  const client = new Client(connection);
  await client.connect();
  const turns: Turn[] = [];
  await sleep(500);
  for (const end = now() + ms; now() < end; await sleep(5)) {
    const at = now();
    turns.push([at, at, at]);
    await client.query({ name: 'tell', text: "SELECT pg_notify('one', 'x')" });
  }
  return turns;
}

/** A process that listens to the other one. */
async function listens(connection: Connection, ms: number): Promise<Turn[]> {
  const client = new Client(connection);
  await client.connect();
  const turns: Turn[] = [];
  client.on('notification', () => void turns.push([now(), now(), now()]));
  await client.query('LISTEN one');
  await sleep(ms + 1500);
  return turns;
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  const [part, text = '{}', ms] = argv.slice(2);
  const connection = JSON.parse(text) as Connection;
  const others = { notifies, listens };
  const turns =
    part === 'notifies' || part === 'listens'
      ? others[part](connection, Number(ms))
      : takeTurns(await opened(part as Name, connection), Number(ms));
  finish(await turns);
}
