/**
 * Scenario k: a holder is killed, so its locks are not released. The time from the expiry of a lock
 * in the server to the next grant.
 */
import { Holdfast } from 'holdfast';
import { percentile, sleep } from 'holdfast-testkit';
import { TeamContender } from '../contenders.js';
import { now } from '../orders.js';
import type { Row } from '../results.js';
import type { Reading } from '../rounds.js';
import { askOne, Team } from '../team.js';
import { target } from '../targets.js';
import { bare, ours } from '../variants.js';
import { connect, disconnect } from '../worker/clients.js';
import { mainClient, measureTable, others, type Scenario } from './scenario.js';

/** Ms between two acquisitions of the holder, so that its locks end one after another. */
const APART_MS = 20;
/** Ms for the waiters to ask before the holder is killed. */
const ASKED_MS = 50;
/** Ms by which the server rounds an expiry. A grant before the earliest expiry is a violation. */
const EARLY_MS = 2;

/** On a busy machine the locks may end before their expiries are read. */
const ATTEMPTS = 3;

/** When a lock ends, give or take `within` ms, and when this was read, on the shared clock. */
interface Expiry {
  readonly end: number;
  readonly within: number;
  readonly read: number;
}
const NEVER: Expiry = { end: Number.NaN, within: 0, read: Infinity };

/** A grant after a kill: ms after the expiry (NaN if unknown), and if it was surely too early. */
interface Grant {
  readonly delay: number;
  readonly early: boolean;
}

let runs = 0;

class Takeover extends TeamContender {
  async measure(): Promise<Reading> {
    let known: Grant[] = [];
    let voids = 0;
    for (let attempt = 0; attempt < ATTEMPTS && known.length === 0; attempt++) {
      const all = await this.#kill();
      known = all.filter(({ delay }) => !Number.isNaN(delay));
      voids += all.length - known.length;
    }
    const delays = known.map(({ delay }) => delay);
    return {
      figures: {
        'take-over p50': percentile(delays, 50),
        'take-over p99': percentile(delays, 99),
        void: voids,
      },
      violations: known.filter(({ early }) => early).length,
      latencies: delays,
    };
  }

  /** The next grant after each expiry; unknown if the expiry was not read before the grant. */
  async #kill(): Promise<Grant[]> {
    const { kills, killTtl } = this.bench.sizes;
    const run = runs++;
    const keys = Array.from({ length: kills }, (_, kill) => `bench:kill:${run}:${kill}`);
    await using holder = await Team.start(this.bench, this.variant, { ttl: killTtl });
    for (const key of keys) {
      await holder.ask({ do: 'take', key }, this.limit);
      await sleep(APART_MS);
    }
    const [waiter] = this.team.workers;
    if (waiter === undefined) throw new Error('not started');
    const taken = keys.map((key) => askOne(waiter, { do: 'take', key }, 3 * killTtl + this.limit));
    const grants = Promise.all(taken);
    grants.catch(() => undefined);
    await sleep(ASKED_MS);
    await holder[Symbol.asyncDispose]();
    const ends = await this.#expiries(keys);
    const after = (await grants).map(({ at }, kill) => {
      const { end, within, read } = ends[kill] ?? NEVER;
      // a later reading is of the next holder's lock
      const delay = read < at ? at - end : Number.NaN;
      return { delay, early: delay < -within - EARLY_MS };
    });
    await this.team.ask({ do: 'drop' }, this.limit);
    return after;
  }

  /** When the locks end, on the shared clock. The holder is dead, so it renews them no more. */
  async #expiries(keys: readonly string[]): Promise<Expiry[]> {
    if (this.variant.kind === 'ours') return this.#inspected(keys);
    const { target: server } = this.bench;
    const from = now();
    const [seconds, micros] = (await server.command('TIME')) as [string, string];
    const within = (now() - from) / 2;
    const offset = Number(seconds) * 1000 + Number(micros) / 1000 - (from + within);
    const ends: Expiry[] = [];
    for (const key of keys) {
      // each library has its own names: the key is part of them
      const found = (await server.command('KEYS', `*${key}*`)) as string[];
      const times = await Promise.all(found.map((name) => server.command('PEXPIRETIME', name)));
      ends.push({ end: Math.max(...times.map(Number)) - offset, within, read: now() });
    }
    return ends;
  }

  async #inspected(keys: readonly string[]): Promise<Expiry[]> {
    const connected = await connect(mainClient(this.bench), this.bench.target.port);
    const observer = new Holdfast(connected.client);
    const ends: Expiry[] = [];
    // the first inspection loads the script
    await observer.inspect('bench:none');
    for (const key of keys) {
      const from = now();
      const info = await observer.inspect(key);
      const read = now();
      const within = (read - from) / 2;
      const remaining = info?.holders[0]?.remaining ?? Number.NaN;
      ends.push({ end: from + within + remaining, within, read });
    }
    await observer.close();
    disconnect(connected);
    return ends;
  }
}

/** The least limit of the distribution that contains this share. */
function quantile(row: Row | undefined, share: number): number {
  return row?.latencies?.find(([, below]) => below >= share)?.[0] ?? Number.NaN;
}

export const k: Scenario = async (bench, add) => {
  const client = mainClient(bench);
  const normal = ours(client);
  const variants = [bare(client), normal, ours(client, 'fair'), ...others(bench)];
  const contenders = variants.map((variant) =>
    Object.assign(new Takeover(bench, variant, { ttl: bench.sizes.killTtl }), {
      against: bare(client).name,
    }),
  );
  add(
    await measureTable(bench, {
      ...{ scenario: 'k', title: 'A killed holder: the next grant after the expiry' },
      ...{ main: 'take-over p50', placement: 'two cores', contenders },
      targets: ({ rows }) => {
        const row = rows.find(({ variant }) => variant.name === normal.name);
        return [
          target(`${normal.name}: p50 of all kills, ms`, quantile(row, 0.5), { most: 2 }),
          target(`${normal.name}: p99 of all kills, ms`, quantile(row, 0.99), { most: 10 }),
        ];
      },
    }),
  );
};
