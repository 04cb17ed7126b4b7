/**
 * Processes wait in a known order. Some at the head of the queue are killed or stopped, and then
 * the lock is released. The release must skip dead waiters in the same step, wait at most one claim
 * window for each stopped waiter, and keep the order of the others. A resumed process must not
 * accept a grant that expired while it was stopped.
 */
import { Holdfast } from 'holdfast';
import { paced, percentile, startServer } from 'holdfast-testkit';
import { round } from './dead-waiters/round.js';
import type { Measured, Participants, Queue, Scenario } from './dead-waiters/scenario.js';
import { connect } from './support/clients.js';
import { Contender } from './support/contenders.js';
import { describe, overlaps, regressions } from './support/overlaps.js';
import { Problems } from './support/problems.js';
import { between, type Random, randomFrom } from './support/random.js';
import { type Parameters, type Trial, type Verdict, verdict } from './trial.js';

const PROCESSES = 6;
/** Keys with the same waiters in the same order, in parallel. */
const KEYS = 4;
/** Keys with unaffected waiters only. */
const ORDINARY_KEYS = 2;
const CLAIM_WINDOW = 600;
const KINDS = ['killed', 'stopped', 'both', 'resumed'] as const;

async function run(parameters: Parameters): Promise<Verdict> {
  const { client, seed, trials, fault } = parameters;
  await using server = await startServer({ server: parameters.server });
  const direct = await connect(client, server.url);
  // a process that runs confirms a grant within it
  const claimWindow = paced(CLAIM_WINDOW);
  const options = { ttl: 100 * claimWindow, claimWindow };
  const holder = new Holdfast(direct.client, options);
  // a process whose lease lasts opens its wake channel: the channels are counted below
  await holder.warmUp();
  const scenario: Scenario = {
    ...{ holder, server, claimWindow, random: randomFrom(seed) },
    ...{ problems: new Problems(), intervals: [] },
    measured: { ordinary: [], dead: [], stopped: [] },
  };
  const start = (): Promise<Contender> =>
    Contender.start({ url: server.url, client, options, fault, beats: true });
  let living: Contender[] = [];
  try {
    // the results after a failure are meaningless
    for (let count = 0; count * KEYS < trials && scenario.problems.list().length === 0; count++) {
      const missing = Array.from({ length: PROCESSES - living.length }, start);
      living = shuffled(scenario.random, [...living, ...(await Promise.all(missing))]);
      const participants = chooseParticipants(
        scenario.random,
        living,
        KINDS[count % KINDS.length] ?? 'both',
      );
      await round(scenario, participants, queues(participants, count));
      living = living.filter((one) => !participants.killed.includes(one));
    }
    judge(scenario);
    return verdict(figures(scenario), scenario.problems.list());
  } finally {
    for (const one of living) one.worker.kill();
    await holder.close({ grace: 0 });
    direct.close();
  }
}

/** Chooses the affected processes, at the head of the queue; at least two are unaffected. */
function chooseParticipants(
  random: Random,
  order: readonly Contender[],
  kind: (typeof KINDS)[number],
): Participants {
  const resumesAnyTime = kind === 'resumed';
  if (kind === 'killed') {
    const killed = order.slice(0, Math.floor(between(random, 1, 4)));
    return { order, killed, stopped: [], resumesAnyTime };
  }
  if (kind !== 'both') return { order, killed: [], stopped: order.slice(0, 1), resumesAnyTime };
  const [one, other, ...more] = order.slice(0, Math.floor(between(random, 2, 5)));
  const [killed, stopped] = random() < 0.5 ? [[one], [other]] : [[other], [one]];
  for (const each of more) (random() < 0.5 ? killed : stopped).push(each);
  return { order, killed, stopped, resumesAnyTime } as Participants;
}

function queues(participants: Participants, count: number): Queue[] {
  const { order, killed, stopped } = participants;
  const unaffected = order.filter((one) => !killed.includes(one) && !stopped.includes(one));
  const make = (what: string, waiters: readonly Contender[], length: number): Queue[] =>
    Array.from({ length }, (_, at) => ({
      key: `${what} ${count}.${at}`,
      fair: at % 2 === 1,
      waiters,
    }));
  return [...make('affected', order, KEYS), ...make('ordinary', unaffected, ORDINARY_KEYS)];
}

function shuffled<T>(random: Random, list: readonly T[]): T[] {
  const places = list.map((one) => ({ one, place: random() }));
  return places.sort((a, b) => a.place - b.place).map(({ one }) => one);
}

function judge({ problems, intervals }: Scenario): void {
  for (const pair of overlaps(intervals)) problems.add('overlap', describe(pair));
  for (const pair of regressions(intervals)) problems.add('fence', describe(pair));
}

function figures({ measured, intervals, claimWindow }: Scenario): Verdict['figures'] {
  const rows: Record<string, number> = { 'leases held': intervals.length };
  const show = (what: string, list: Measured[keyof Measured]): void => {
    rows[`${what}, cases`] = list.length;
    rows[`${what}, ms, p50`] = percentile(list, 50);
    rows[`${what}, ms, p99`] = percentile(list, 99);
    rows[`${what}, ms, max`] = Math.max(...list);
  };
  show('ordinary hand-off', measured.ordinary);
  show('hand-off past dead waiters', measured.dead);
  show('past stopped waiters, after their windows', measured.stopped);
  rows['claim window, ms'] = claimWindow;
  return rows;
}

export const trial: Trial = {
  name: 'dead-waiters',
  claim: 'a hand-off skips dead waiters at once and stopped ones within a claim window each',
  full: { trials: 200 },
  share: { trials: 16 },
  faults: ['no-claim-window', 'trusts-stale-push'],
  run,
};
