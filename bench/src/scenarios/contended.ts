/** Scenarios c, d, e and h: several tasks want one key; and their cost by processes. */
import { percentile } from 'holdfast-testkit';
import { LoopsContender, TeamContender, type Work } from '../contenders.js';
import type { Contender, Reading } from '../rounds.js';
import type { Bench } from '../settings.js';
import {
  evenTarget,
  figureTarget,
  leastTarget,
  peerTarget,
  rateTarget,
  ratioTarget,
  target,
} from '../targets.js';
import { ASYNC_MUTEX, bare, CHAIN, ours, type Variant } from '../variants.js';
import { mainClient, measureTable, others, placements, type Scenario } from './scenario.js';

const HOT = { keys: 'one' } as const;

function names(bench: Bench): { client: Bench['clients'][number]; normal: string; fair: string } {
  const client = mainClient(bench);
  return { client, normal: ours(client).name, fair: ours(client, 'fair').name };
}

/** Holdfast in both modes, the bare lock, and the other libraries. */
function all(bench: Bench, work: Work, more: readonly Variant[] = []): Contender[] {
  const client = mainClient(bench);
  const against = bare(client).name;
  return [bare(client), ours(client), ours(client, 'fair'), ...more, ...others(bench)].map(
    (variant) => new LoopsContender(bench, variant, { ...work, against }),
  );
}

const local = (bench: Bench): Variant[] => (bench.peersFolder === undefined ? [] : [ASYNC_MUTEX]);

export const c: Scenario = async (bench, add) => {
  const { normal, fair } = names(bench);
  for (const placement of placements(bench, ['one core', 'a core each'])) {
    add(
      await measureTable(bench, {
        ...{ scenario: 'c', title: '16 tasks of one process, one key', main: 'rate', placement },
        contenders: all(bench, { ...HOT, tasks: 16 }, local(bench)),
        targets: (measured) => [
          ...peerTarget(measured, normal, { least: 20 }, { even: false }),
          ...rateTarget(measured, normal, ASYNC_MUTEX.name, { least: 0.25 }),
          ...peerTarget(measured, fair, { least: 8 }, { even: true }),
        ],
      }),
    );
  }
};

export const d: Scenario = async (bench, add) => {
  const { normal, fair } = names(bench);
  for (const placement of placements(bench, ['one core', 'two cores'])) {
    add(
      await measureTable(bench, {
        ...{ scenario: 'd', title: '4 processes of 4 tasks, one key', main: 'rate', placement },
        contenders: all(bench, { ...HOT, processes: 4, tasks: 4 }),
        targets: (measured) => [
          ...peerTarget(measured, normal, { least: 5 }, { even: false }),
          ...evenTarget(measured, normal),
          ...peerTarget(measured, fair, { least: 0.8 }, { even: true }),
        ],
      }),
    );
  }
};

/** The floor of a hand-off through the server: publish and receive. */
class Echo extends TeamContender {
  async measure(): Promise<Reading> {
    const ms = this.bench.sizes.seconds * 1000;
    const [result] = await this.team.ask({ do: 'echo', ms }, ms + this.limit);
    const { gaps = [] } = result ?? {};
    return {
      figures: { 'hand-off p50': percentile(gaps, 50), 'hand-off p99': percentile(gaps, 99) },
      latencies: gaps,
    };
  }
}

export const e: Scenario = async (bench, add) => {
  const { client, normal, fair } = names(bench);
  const work: Work = { ...HOT, tasks: 10, hold: 1, polite: true, against: CHAIN.name };
  const echo: Variant = { ...bare(client), name: `publish and receive ${client}` };
  const variants = [CHAIN, bare(client), ours(client), ours(client, 'fair'), ...others(bench)];
  add(
    await measureTable(bench, {
      ...{ scenario: 'e', title: 'Polite hand-off: 10 tasks, held for 1 ms', main: 'rate' },
      placement: 'a core each',
      contenders: [
        new Echo(bench, echo),
        ...variants.map((variant) => new LoopsContender(bench, variant, work)),
      ],
      targets: (measured) => {
        const p50 = (name: string): number =>
          measured.rows.find(({ variant }) => variant.name === name)?.figures['hand-off p50']
            ?.median ?? Number.NaN;
        return [
          ...ratioTarget(measured, normal, { least: 0.95 }),
          ...ratioTarget(measured, fair, { least: 0.88 }),
          ...[normal, fair].map((name) =>
            target(`${name}: p50, of publish and receive`, p50(name) / p50(echo.name), {
              most: 1.5,
            }),
          ),
        ];
      },
    }),
  );
};

export const h: Scenario = async (bench, add) => {
  const { client, fair } = names(bench);
  const pair: Variant = { ...ours(client), name: `holdfast ${client}, no waiters` };
  const work: Work = { ...HOT, tasks: 16, against: pair.name };
  const contended = [ours(client), ours(client, 'fair')];
  // enqueue and hand-over only: a lease that is not renewed is not claimed
  const unclaimed: Variant = { ...ours(client, 'fair'), name: `${fair}, not renewed` };
  add(
    await measureTable(bench, {
      scenario: 'h',
      title: 'Time of the scripts for each acquisition of 16 tasks, and calls within them',
      main: 'script time',
      placement: 'a core each',
      contenders: [
        new LoopsContender(bench, pair, {}),
        ...contended.map((variant) => new LoopsContender(bench, variant, work)),
        new LoopsContender(bench, unclaimed, { ...work, renew: false }),
      ],
      targets: (measured) => [
        ...leastTarget(measured, unclaimed.name, 'script time', { most: 25 }),
        ...figureTarget(measured, unclaimed.name, 'inner calls', { most: 10 }),
      ],
    }),
  );
};

export const processes: Scenario = async (bench, add) => {
  const client = mainClient(bench);
  const variants = [bare(client), ours(client), ours(client, 'fair')];
  const contenders = bench.sizes.sweeps.processes.flatMap((count) =>
    variants.map((variant) => {
      const work = { ...HOT, processes: count, tasks: 4, at: count };
      return new LoopsContender(bench, variant, { ...work, against: bare(client).name });
    }),
  );
  add(
    await measureTable(bench, {
      ...{ scenario: 'processes', title: 'Processes of 4 tasks, one key', main: 'rate' },
      ...{ placement: 'two cores', contenders },
    }),
  );
};
