/** Faults of a file of SQLite: other programs that use it, its disk, its loss, the wall clock. */
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, pick } from 'holdfast-trials/support/random';
import { LOCKS } from '../settings.js';
import { serverMicros } from '../scenario.js';
import { openDatabase } from '../sqlite/client.js';
import type { SqliteScenario } from '../sqlite/scenario.js';
import { type Fault, type FaultContext, mainFault } from './fault.js';

export type SqliteFault = Fault<SqliteScenario>;

/** The clock of the locks was read once, so it may be off the wall clock by this, in µs. */
const APART = 5000;

/** Another program holds a transaction open for a while. */
function held(kind: string, [begin, ...more]: readonly string[], longest: number): SqliteFault {
  return {
    kind,
    async run(context, random) {
      const database = openDatabase(context.scenario.file);
      try {
        database.exec(begin as string);
        for (const text of more) database.prepare(text).all();
      } catch {
        database.close();
        return false;
      }
      context.begin(kind);
      await context.sleep(between(random, 50, longest));
      database.exec('ROLLBACK');
      database.close();
      context.end(kind);
      return true;
    },
  };
}

const full = mainFault<SqliteScenario>(
  'disk full',
  [100, 1500],
  ({ disk }) => disk?.fill(true),
  ({ disk }) => disk?.fill(false),
);

/** Leases do not follow the wall clock, so nothing is excused. */
const stepped: SqliteFault = {
  kind: 'wall clock of all processes',
  async run(context, random) {
    const { wall } = context.scenario;
    context.begin(this.kind);
    for (let count = 0; count < 6 && !context.over; count++) {
      wall?.step(between(random, -10_000, 20_000));
      await context.sleep(between(random, 20, 600));
    }
    wall?.step(0);
    context.end(this.kind);
    return true;
  },
};

const checkpointed: SqliteFault = {
  kind: 'checkpoint',
  async run(context, random) {
    const mode = pick(random, ['PASSIVE', 'FULL', 'RESTART', 'TRUNCATE']);
    await context.scenario.other((database) => database.exec(`PRAGMA wal_checkpoint(${mode})`));
    context.once(this.kind);
    return true;
  },
};

/** Records that the data of all locks, or of one, was lost by what `change` does. */
function lose(
  context: FaultContext<SqliteScenario>,
  kind: string,
  change: () => unknown,
  k?: string,
): void {
  const [from, t] = [serverMicros(context.scenario) - APART, monotonic()];
  change();
  context.once(kind);
  context.noteDataLoss({ from, to: serverMicros(context.scenario) + APART, t, k });
}

const deleted: SqliteFault = {
  kind: 'row deleted',
  async run(context, random) {
    for (let count = 0; count < 4 && !context.over; count++) {
      const k = pick(random, LOCKS);
      const text = 'DELETE FROM holdfast_locks WHERE key = ?';
      await context.scenario.other((database) => {
        const remove = (): unknown => database.prepare(text).run(`holdfast:lock:${k}`);
        lose(context, this.kind, remove, k);
      });
      await context.sleep(between(random, 5, 200));
    }
    return true;
  },
};

/**
 * The folder is replaced by one with a copy from up to 1.5 s before, or by an empty one, while the
 * processes have the files of the old one open.
 */
function replaced(kind: string, copies: boolean): SqliteFault {
  return {
    kind,
    async run(context, random) {
      const { locks, other } = context.scenario;
      const [next, last] = [`${locks}.next`, `${locks}.last`];
      mkdirSync(next);
      if (copies) await other((database) => database.exec(`VACUUM INTO '${next}/locks.db'`));
      await context.sleep(between(random, 20, 1500));
      lose(context, kind, () => {
        renameSync(locks, last);
        renameSync(next, locks);
      });
      await context.sleep(1000);
      rmSync(last, { recursive: true, force: true });
      return true;
    },
  };
}

/** All processes are killed, and the file of before comes back. */
const restored: SqliteFault = {
  kind: 'all killed, restored from an older backup',
  async run(context, random) {
    const { scenario, participants } = context;
    const { locks } = scenario;
    const copy = `${locks}.copy`;
    mkdirSync(copy);
    await scenario.other((database) => database.exec(`VACUUM INTO '${copy}/locks.db'`));
    await context.sleep(between(random, 20, 1500));
    const all = await participants.claim();
    context.begin(this.kind);
    const [from, t] = [serverMicros(scenario) - APART, monotonic()];
    await Promise.all(all.map((one) => participants.kill(one)));
    rmSync(locks, { recursive: true });
    renameSync(copy, locks);
    context.noteDataLoss({ from, to: serverMicros(scenario) + APART, t });
    await Promise.all(all.map((one) => one.start(participants)));
    for (const one of all) one.busy = false;
    context.end(this.kind);
    return true;
  },
};

/** The faults that are possible on this machine. */
export function sqliteFaults({ disk, wall }: SqliteScenario): SqliteFault[] {
  const rows = 'SELECT count(*) FROM holdfast_locks';
  return [
    held('file locked', ['BEGIN IMMEDIATE'], 1500),
    held('file locked for all', ['BEGIN EXCLUSIVE'], 1500),
    held('long transaction reads', ['BEGIN', rows], 4000),
    ...[checkpointed, deleted, restored],
    replaced('folder replaced by an empty one', false),
    replaced('folder replaced by an older copy', true),
    ...(disk === undefined ? [] : [full]),
    ...(wall === undefined ? [] : [stepped]),
  ];
}
