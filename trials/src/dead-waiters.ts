/**
 * Processes wait in a known order; those at the head are killed, or stopped, and then the lock is
 * released. The hand-off must skip the dead in the very step that releases, lose no more than one
 * claim window to each of the frozen, and keep the order of the others. A frozen process that goes
 * on must not believe in what it was granted in its sleep.
 */
import { Holdfast } from 'holdfast';
import { percentile, startServer } from 'holdfast-testkit';
import { type Cast, type Measured, type Queue, round, type Stage } from './dead-waiters/round.js';
import { connect } from './support/clients.js';
import { Contender } from './support/contenders.js';
import { describe, overlaps, regressions } from './support/overlaps.js';
import { Problems } from './support/problems.js';
import { between, type Random, randomFrom } from './support/random.js';
import { type Parameters, type Trial, type Verdict, verdict } from './trial.js';

const PROCESSES = 6;
/** Keys for which the same processes wait in the same order, at the same time. */
const KEYS = 4;
/** Keys for which only those wait whom nothing is done to. */
const ORDINARY_KEYS = 2;
const TTL = 30_000;
const CLAIM_WINDOW = 300;
const KINDS = ['killed', 'frozen', 'both', 'thawed'] as const;

async function run(parameters: Parameters): Promise<Verdict> {
  const { client, seed, trials, fault } = parameters;
  await using server = await startServer({ server: parameters.server });
  const direct = await connect(client, server.url);
  const options = { ttl: TTL, claimWindow: CLAIM_WINDOW };
  const holder = new Holdfast(direct.client, options);
  const stage: Stage = {
    ...{ holder, server, claimWindow: CLAIM_WINDOW, random: randomFrom(seed) },
    ...{ problems: new Problems(), intervals: [] },
    measured: { ordinary: [], dead: [], frozen: [] },
  };
  const start = (): Promise<Contender> =>
    Contender.start({ url: server.url, client, options, fault });
  let living: Contender[] = [];
  try {
    // what follows a failure tells nothing more
    for (let count = 0; count * KEYS < trials && stage.problems.list().length === 0; count++) {
      const missing = Array.from({ length: PROCESSES - living.length }, start);
      living = shuffled(stage.random, [...living, ...(await Promise.all(missing))]);
      const cast = casting(stage.random, living, KINDS[count % KINDS.length] ?? 'both');
      await round(stage, cast, queues(cast, count));
      living = living.filter((one) => !cast.killed.includes(one));
    }
    judge(stage);
    return verdict(figures(stage), stage.problems.list());
  } finally {
    for (const one of living) one.worker.kill();
    await holder.close({ grace: 0 });
    direct.close();
  }
}

/** Whom of the queue something is done to: heads of it, and at least two are left. */
function casting(random: Random, order: readonly Contender[], kind: (typeof KINDS)[number]): Cast {
  const thawsAnyTime = kind === 'thawed';
  if (kind === 'killed') {
    const killed = order.slice(0, Math.floor(between(random, 1, 4)));
    return { order, killed, frozen: [], thawsAnyTime };
  }
  if (kind !== 'both') return { order, killed: [], frozen: order.slice(0, 1), thawsAnyTime };
  const [one, other, ...more] = order.slice(0, Math.floor(between(random, 2, 5)));
  const [killed, frozen] = random() < 0.5 ? [[one], [other]] : [[other], [one]];
  for (const each of more) (random() < 0.5 ? killed : frozen).push(each);
  return { order, killed, frozen, thawsAnyTime } as Cast;
}

function queues(cast: Cast, count: number): Queue[] {
  const { order, killed, frozen } = cast;
  const unharmed = order.filter((one) => !killed.includes(one) && !frozen.includes(one));
  const make = (what: string, waiters: readonly Contender[], length: number): Queue[] =>
    Array.from({ length }, (_, at) => ({
      key: `${what} ${count}.${at}`,
      fair: at % 2 === 1,
      waiters,
    }));
  return [...make('harmed', order, KEYS), ...make('ordinary', unharmed, ORDINARY_KEYS)];
}

function shuffled<T>(random: Random, list: readonly T[]): T[] {
  const places = list.map((one) => ({ one, place: random() }));
  return places.sort((a, b) => a.place - b.place).map(({ one }) => one);
}

function judge({ problems, intervals }: Stage): void {
  for (const pair of overlaps(intervals)) problems.add('overlap', describe(pair));
  for (const pair of regressions(intervals)) problems.add('fence', describe(pair));
}

function figures({ measured, intervals }: Stage): Verdict['figures'] {
  const rows: Record<string, number> = { 'leases held': intervals.length };
  const show = (what: string, list: Measured[keyof Measured]): void => {
    rows[`${what}, cases`] = list.length;
    rows[`${what}, ms, p50`] = percentile(list, 50);
    rows[`${what}, ms, p99`] = percentile(list, 99);
    rows[`${what}, ms, max`] = Math.max(...list);
  };
  show('ordinary hand-off', measured.ordinary);
  show('hand-off past the dead', measured.dead);
  show('past the frozen, beyond their windows', measured.frozen);
  rows['claim window, ms'] = CLAIM_WINDOW;
  return rows;
}

export const trial: Trial = {
  name: 'dead-waiters',
  claim: 'a hand-off skips dead waiters at once and frozen ones within a claim window each',
  full: { trials: 200 },
  share: { trials: 16 },
  faults: ['no-claim-window', 'believes-stale-push'],
  run,
};
