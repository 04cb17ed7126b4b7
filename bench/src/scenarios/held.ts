/** Scenario g: many leases held, with their renewal. */
import { TeamContender } from '../contenders.js';
import type { FigureName, Target } from '../results.js';
import type { Measured, Reading } from '../rounds.js';
import { readServer, since } from '../server-readings.js';
import type { Bench } from '../settings.js';
import { ratios, spread } from '../spread.js';
import { figureTarget, ratioTarget, target } from '../targets.js';
import { bare, ours, type Variant } from '../variants.js';
import { mainClient, measureTable, others, type Scenario } from './scenario.js';

/** The leases are held for this number of ttls. */
const TTLS = 5;
/** A lease is renewed at least once in this part of its ttl. */
const PERIOD = 0.6;

/** A library that needs more than this for each lock, to take or to release all, has failed. */
const LOCK_MS = 4;

const ttlOf = (bench: Bench): number => (bench.sizes.holdSeconds * 1000) / TTLS;

class Keeping extends TeamContender {
  readonly at: number;
  readonly against: string;
  /** The most leases that were lost in one round, the first round included. */
  #lost = 0;

  constructor(bench: Bench, variant: Variant, leases: number) {
    super(bench, variant, { ttl: ttlOf(bench) });
    this.at = leases;
    this.against = bare(mainClient(bench)).name;
  }

  /** The figures of one renewal of one lease, if each is renewed as seldom as possible. */
  async measure(warmUp: boolean): Promise<Reading> {
    const { at: locks, bench, team, limit } = this;
    const { target: server } = bench;
    const ms = bench.sizes.holdSeconds * 1000;
    await server.command('FLUSHALL');
    const patience = limit + locks * LOCK_MS;
    await team.ask({ do: 'hold', locks, renewed: ttlOf(bench) }, patience);
    const before = await readServer(server);
    const [result] = await team.ask({ do: 'rest', ms, count: warmUp }, limit + ms);
    const after = since(before, await readServer(server));
    const kept = Number(await server.command('DBSIZE'));
    await team.ask({ do: 'drop' }, patience);
    const { cpu = Number.NaN, commands = Number.NaN, lost = 0 } = result ?? {};
    this.#lost = Math.max(this.#lost, lost, locks - kept);
    const renewals = (locks * TTLS) / PERIOD;
    return {
      figures: {
        'node cpu': cpu / renewals,
        'server cpu': after.cpu / renewals,
        'script time': after.scriptTime / renewals,
        commands: (100 * commands) / renewals,
        calls: after.calls / renewals,
        lost: this.#lost,
      },
    };
  }
}

function nodeTarget(measured: Measured, name: string, reference: string, at: number): Target[] {
  const roundsOf = (of: string): readonly number[] =>
    measured.rows.find((row) => row.variant.name === of && row.at === at)?.figures['node cpu']
      ?.rounds ?? [];
  const all = ratios(roundsOf(name), roundsOf(reference));
  const counted = all.filter((_, index) => measured.rounds[index]?.noisy === false);
  const what = `${name} at ${at}, node cpu of ${reference}`;
  return counted.length === 0 ? [] : [target(what, spread(counted).median, { most: 1.5 })];
}

export const g: Scenario = async (bench, add) => {
  const client = mainClient(bench);
  const [reference, normal] = [bare(client), ours(client)];
  for (const leases of bench.sizes.leases) {
    const contenders = [reference, normal, ...others(bench)].map(
      (variant) => new Keeping(bench, variant, leases),
    );
    const most = (measured: Measured, figure: FigureName, limit: number): Target[] =>
      figureTarget(measured, normal.name, figure, { most: limit }, leases);
    add(
      await measureTable(bench, {
        ...{ scenario: 'g', title: `${leases} leases held, a renewal of one (commands: of 100)` },
        ...{ main: 'server cpu', placement: 'a core each', contenders },
        targets: (measured) => [
          ...most(measured, 'commands', 1),
          ...most(measured, 'lost', 0),
          ...ratioTarget(measured, normal.name, { most: 1.35 }, leases),
          ...nodeTarget(measured, normal.name, reference.name, leases),
        ],
      }),
    );
  }
};
