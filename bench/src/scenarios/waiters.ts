/** Scenario f: very many waiters in four processes, each of which acquires once. */
import { percentile, sleep, until } from 'holdfast-testkit';
import { TeamContender } from '../contenders.js';
import { overlaps } from '../exclusion.js';
import type { Target } from '../results.js';
import type { Contender, Measured, Reading } from '../rounds.js';
import { readServer, since } from '../server-readings.js';
import type { Bench } from '../settings.js';
import { askOne, Team } from '../team.js';
import { figureTarget, target } from '../targets.js';
import { bare, ours, type Variant } from '../variants.js';
import { mainClient, measureTable, others, type Scenario } from './scenario.js';

const PROCESSES = 4;
/** Peers are measured with at most so many waiters: most of them poll. */
const PEERS_MOST = 1000;
const QUIET_MS = 200;
const QUEUED_MS = 20_000;
const SERVED_MS = 60_000;

let runs = 0;

class Crowd extends TeamContender {
  readonly at: number;
  #holder: Team | undefined;

  constructor(bench: Bench, variant: Variant, waiters: number) {
    super(bench, variant, { processes: PROCESSES, ttl: 60_000 });
    this.at = waiters;
  }

  override async start(): Promise<void> {
    await super.start();
    this.#holder = await Team.start(this.bench, this.variant, { ttl: 60_000 });
  }

  async measure(): Promise<Reading> {
    const holder = this.#holder?.workers[0];
    if (holder === undefined) throw new Error('not started');
    const key = `bench:crowd:${runs++}`;
    await askOne(holder, { do: 'take', key }, this.limit);
    const waiters = Math.ceil(this.at / PROCESSES);
    const asked = this.team.ask({ do: 'crowd', waiters, key }, QUEUED_MS + SERVED_MS);
    asked.catch(() => undefined);
    await this.#queued();
    const before = await readServer(this.bench.target);
    await askOne(holder, { do: 'drop' }, this.limit);
    const results = await asked;
    const server = since(before, await readServer(this.bench.target));
    const lists = results.map(({ intervals }) => intervals);
    const served = lists.reduce((sum, list) => sum + list.length / 2, 0);
    const cpu = results.reduce((sum, result) => sum + result.cpu, 0);
    return {
      figures: {
        ...rates(lists),
        'node cpu': cpu / served,
        'server cpu': server.cpu / served,
        'script calls': server.scripts / served,
        'script time': server.scriptTime / served,
      },
      violations: overlaps(lists),
      latencies: gapsOf(lists),
    };
  }

  /** All have asked: the server has been without much work for a moment. Pollers never are. */
  async #queued(): Promise<void> {
    const quiet = async (): Promise<boolean> => {
      const before = await readServer(this.bench.target);
      await sleep(QUIET_MS);
      return since(before, await readServer(this.bench.target)).calls < 20;
    };
    const within = this.variant.kind === 'ours' ? QUEUED_MS : 1000;
    await until(quiet, { within, every: 1, what: 'all waiters have asked' }).catch(() => undefined);
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#holder?.[Symbol.asyncDispose]();
    this.#holder = undefined;
    await this.bench.target.command('FLUSHALL');
  }
}

function starts(lists: readonly (readonly number[])[]): number[] {
  const all = lists.flatMap((list) => list.filter((_, index) => index % 2 === 0));
  return all.toSorted((x, y) => x - y);
}

function gapsOf(lists: readonly (readonly number[])[]): number[] {
  const all = starts(lists);
  return all.slice(1).map((from, index) => from - (all[index] as number));
}

/** The rates over all, over the first tenth, and over the last tenth. */
function rates(lists: readonly (readonly number[])[]): Reading['figures'] {
  const all = starts(lists);
  const tenth = Math.max(2, Math.floor(all.length / 10));
  const rate = (part: readonly number[]): number =>
    ((part.length - 1) * 1000) / ((part.at(-1) as number) - (part[0] as number));
  const [first, last] = [rate(all.slice(0, tenth)), rate(all.slice(-tenth))];
  const gaps = gapsOf(lists);
  return {
    ...{ rate: rate(all), 'first tenth': first, 'last tenth': last, 'last to first': last / first },
    ...{ 'hand-off p50': percentile(gaps, 50), 'hand-off p99': percentile(gaps, 99) },
  };
}

export const f: Scenario = async (bench, add) => {
  const client = mainClient(bench);
  const [normal, fair] = [ours(client), ours(client, 'fair')];
  for (const waiters of bench.sizes.waiters) {
    const more = waiters > PEERS_MOST ? [] : [bare(client), ...others(bench)];
    const contenders: Contender[] = [normal, fair, ...more].map(
      (variant) => new Crowd(bench, variant, waiters),
    );
    add(
      await measureTable(bench, {
        ...{ scenario: 'f', title: `${waiters} waiters in ${PROCESSES} processes, one key` },
        ...{ main: 'rate', placement: 'two cores', contenders },
        targets: (measured) => targets(measured, [normal, fair], waiters),
      }),
    );
  }
};

/** The rate of the end may be a quarter below that of the start: both are short measurements. */
const SAME_RATE = 0.75;

function targets(measured: Measured, [normal, fair]: [Variant, Variant], at: number): Target[] {
  return [
    ...[normal, fair].map(({ name }) => {
      const row = measured.rows.find(({ variant }) => variant.name === name);
      const value = row?.figures['last to first']?.median ?? Number.NaN;
      return target(`${name} at ${at}: rate of the last tenth, of the first`, value, {
        least: SAME_RATE,
      });
    }),
    ...figureTarget(measured, normal.name, 'script calls', { most: 0.5 }, at),
  ];
}

export const waiters: Scenario = async (bench, add) => {
  const client = mainClient(bench);
  const contenders = bench.sizes.sweeps.waiters.flatMap((count) =>
    [ours(client), ours(client, 'fair')].map((variant) => new Crowd(bench, variant, count)),
  );
  add(
    await measureTable(bench, {
      ...{ scenario: 'waiters', title: `Waiters in ${PROCESSES} processes, one key` },
      ...{ main: 'rate', placement: 'two cores', contenders },
    }),
  );
};
