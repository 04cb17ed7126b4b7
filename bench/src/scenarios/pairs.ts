/** Scenarios a and b: pairs of acquire and release without waiters, and their cost by keys. */
import { LoopsContender, type Work } from '../contenders.js';
import type { Target } from '../results.js';
import type { Contender, Measured } from '../rounds.js';
import type { Bench } from '../settings.js';
import { ratioTarget } from '../targets.js';
import { bare, type ClientName, ours, PEERS } from '../variants.js';
import { mainClient, measureTable, placements, type Scenario } from './scenario.js';

/** The least ratio to the bare client, by client. */
type Least = Partial<Record<ClientName, number>>;

function contenders(bench: Bench, work: Work): Contender[] {
  const peers = bench.peersFolder === undefined ? [] : PEERS;
  const needed = new Set<ClientName>(bench.clients);
  for (const { client } of peers) if (client !== 'none') needed.add(client);
  return [
    ...[...needed].map((client) => new LoopsContender(bench, bare(client), work)),
    ...bench.clients.map((client) => {
      const against = `bare ${client}`;
      return new LoopsContender(bench, ours(client), { ...work, against });
    }),
    ...peers.map((peer) => {
      return new LoopsContender(bench, peer, { ...work, against: `bare ${peer.client}` });
    }),
  ];
}

const targets =
  (bench: Bench, least: Least) =>
  (measured: Measured): Target[] =>
    bench.clients.flatMap((client) => {
      const limit = least[client];
      return limit === undefined
        ? []
        : ratioTarget(measured, `holdfast ${client}`, { least: limit });
    });

export const a: Scenario = async (bench, add) => {
  const title = 'One pair after another, no waiters';
  const least = { 'ioredis-5': 0.75, 'node-redis-5': 0.75, 'node-redis': 0.95 };
  const apart = { 'ioredis-5': 0.9, 'node-redis-5': 0.9, 'node-redis': 0.9 };
  for (const placement of placements(bench, ['one core', 'a core each'])) {
    add(
      await measureTable(bench, {
        ...{ scenario: 'a', title, main: 'rate', placement, contenders: contenders(bench, {}) },
        targets: targets(bench, placement === 'one core' ? least : apart),
      }),
    );
  }
};

export const b: Scenario = async (bench, add) => {
  const { loops } = bench.sizes;
  const least = { 'ioredis-5': 1.5, 'node-redis-5': 1, 'node-redis': 2.5 };
  const staggered = { 'ioredis-5': 0.9, 'node-redis-5': 0.9, 'node-redis': 0.9 };
  for (const placement of placements(bench, ['one core', 'a core each'])) {
    for (const stagger of [0, 5]) {
      const work = { tasks: loops, stagger };
      const gap = stagger === 0 ? '' : `, each with a pause of 0 to ${stagger} ms`;
      add(
        await measureTable(bench, {
          ...{ scenario: 'b', title: `${loops} loops on ${loops} keys${gap}`, main: 'rate' },
          ...{ placement, contenders: contenders(bench, work) },
          targets: targets(bench, stagger === 0 ? least : staggered),
        }),
      );
    }
  }
};

export const keys: Scenario = async (bench, add) => {
  const client = mainClient(bench);
  const sized = bench.sizes.sweeps.keys.flatMap((tasks) => [
    new LoopsContender(bench, bare(client), { tasks, at: tasks }),
    new LoopsContender(bench, ours(client), { tasks, at: tasks, against: `bare ${client}` }),
  ]);
  add(
    await measureTable(bench, {
      ...{ scenario: 'keys', title: 'Loops on as many keys', main: 'rate' },
      ...{ placement: 'a core each', contenders: sized },
    }),
  );
};
