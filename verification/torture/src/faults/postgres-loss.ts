/**
 * Faults that make PostgreSQL lose data: an older backup is restored, rows are deleted. Leases from
 * before and after the loss may overlap. Fences must still grow.
 */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, pick } from 'holdfast-trials/support/random';
import { LOCKS } from '../settings.js';
import { TABLE } from '../postgres/scenario.js';
import { serverMicros } from '../scenario.js';
import { LOCK_MS, type PostgresFault, rowOf } from './postgres-server.js';

const run = promisify(execFile);

/** The files of the server are replaced by a copy from up to 1.5 s before. */
const restored: PostgresFault = {
  kind: 'restored from an older backup',
  async run(context, random) {
    const { scenario } = context;
    const { server } = scenario;
    const copy = `${server.data}.copy`;
    context.begin(this.kind);
    await server.kill();
    await run('cp', ['-a', server.data, copy]);
    await server.restart();
    await context.sleep(between(random, 20, 1500));
    const isPossible = !context.clockIsBehind;
    if (isPossible) {
      const [from, t] = [serverMicros(scenario), monotonic()];
      await server.kill();
      rmSync(server.data, { recursive: true });
      await run('cp', ['-a', copy, server.data]);
      context.noteDataLoss({ from, to: serverMicros(scenario), t });
      await server.restart();
    }
    rmSync(copy, { recursive: true });
    context.end(this.kind);
    return isPossible;
  },
};

/** The rows of before come back while the processes work, as from a dump of the table. */
const reloaded: PostgresFault = {
  kind: 'table restored from a dump',
  async run(context, random) {
    const { scenario } = context;
    const { pool } = scenario;
    await pool.query(`DROP TABLE IF EXISTS dump; CREATE TABLE dump AS TABLE ${TABLE}`);
    await context.sleep(between(random, 20, 1500));
    return lose(
      context,
      this.kind,
      `DELETE FROM ${TABLE}; INSERT INTO ${TABLE} SELECT * FROM dump`,
    );
  },
};

const emptied: PostgresFault = {
  kind: 'table emptied',
  run(context) {
    return lose(context, this.kind, `TRUNCATE ${TABLE}`);
  },
};

const deleted: PostgresFault = {
  kind: 'row deleted',
  async run(context, random) {
    for (let count = 0; count < 4 && !context.over; count++) {
      const k = pick(random, LOCKS);
      const text = `DELETE FROM ${TABLE} WHERE key = '${rowOf(k)}'`;
      await lose(context, this.kind, text, k);
      await context.sleep(between(random, 5, 200));
    }
    return true;
  },
};

/** Runs a change that loses the data of all locks, or of one. False if it was not possible. */
async function lose(
  context: Parameters<PostgresFault['run']>[0],
  kind: string,
  text: string,
  k?: string,
): Promise<boolean> {
  const { scenario } = context;
  if (context.clockIsBehind) return false;
  const client = await scenario.pool.connect();
  client.on('error', () => undefined);
  const [from, t] = [serverMicros(scenario), monotonic()];
  try {
    await client.query(`BEGIN; SET LOCAL lock_timeout = ${LOCK_MS}; ${text}; COMMIT`);
  } catch {
    // the rows are in use by a transaction
    return false;
  } finally {
    client.release(true);
  }
  context.once(kind);
  context.noteDataLoss({ from, to: serverMicros(scenario) + 1000, t, k });
  return true;
}

export const postgresLossFaults: readonly PostgresFault[] = [restored, reloaded, emptied, deleted];
