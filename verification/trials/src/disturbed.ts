/**
 * Two programs use locks, elections and conditions while something disturbs them that loses no data
 * of the lock servers.
 *
 * - No lock has two holders, and no call says that a lease was lost.
 * - Afterwards, every activity of both programs goes on, and hand-offs come by messages.
 *
 * `trials` is the number of rounds of each kind, `others` the number of kinds, `tasks` the number
 * of deployments at the same time.
 */
import { Holdfast } from 'holdfast';
import { paced, sleep, until } from 'holdfast-testkit';
import { CLUSTER, type Disturbance, LASTS_MS, SENTINEL } from './disturbed/disturbances.js';
import { Programs, TTL } from './disturbed/programs.js';
import {
  cluster,
  type Deployment,
  newLogin,
  sentinels,
  type Start,
} from './fail-over/deployments.js';
import { inLanes, type Rounds } from './fail-over/lanes.js';
import { add, trouble } from './fail-over/scenario.js';
import type { Connected } from './support/clients.js';
import { between } from './support/random.js';
import type { Parameters, Trial } from './trial.js';

/**
 * A waiter that got a lock must confirm it within the claim window, so this is longer than the
 * store is away.
 */
const CLAIM_WINDOW = 10_000;
/** While the store answers: a process that hears no messages finds that out with two polls. */
const POLL_WINDOW = 2000;
/** A client follows several redirections within it. */
const ANSWER_MS = 500;
// no master starts again
const OPTIONS = { ttl: TTL, unreachableAfter: 60_000, restartGuard: 0 };
/** A hand-off that takes a smaller part of a claim window did not need a poll, in most cases. */
const SOON = 1 / 4;
const PROGRAMS = 2;
const GRANTED_MS = 20_000;
/** The same with a planted fault: the client of a stuck lock keeps a core busy. */
const STUCK_MS = 5000;
/** The programs have used their locks this often before a round begins. */
const USED = 3;
/** No server takes over while one is away for a moment. */
const DOWN_AFTER = 15_000;

async function onDeployment(
  start: Start,
  { server, client, fault }: Parameters,
  { rounds, ...rest }: Rounds<Disturbance>,
): Promise<void> {
  const deployment = await start({ server, downAfter: DOWN_AFTER });
  const login = newLogin();
  try {
    for (const disturbance of [...rounds]) {
      const open: Connected[] = [];
      const instances: Holdfast[] = [];
      const claimWindow = disturbance.answers ? paced(POLL_WINDOW) : CLAIM_WINDOW;
      try {
        for (let count = 0; count < PROGRAMS; count++) {
          const connected = await deployment.connect(client, login);
          open.push(connected);
          const replicas = disturbance.acknowledged ? deployment.replicas : 0;
          const terms = { claimWindow, replicas, requestTimeout: paced(ANSWER_MS) };
          instances.push(new Holdfast(connected.client, { ...OPTIONS, ...terms }));
        }
        const used = { instances, clients: open, login, fault, soon: SOON * claimWindow };
        await once(deployment, disturbance, { ...used, ...rest });
      } finally {
        await Promise.all(instances.map((one) => one.close({ grace: 0 })));
        for (const one of open) one.close();
      }
      rounds.shift();
    }
  } finally {
    await deployment.stop();
  }
}

interface Round extends Pick<Rounds<Disturbance>, 'random' | 'problems' | 'figures'> {
  readonly instances: readonly Holdfast[];
  readonly clients: readonly Connected[];
  readonly login: ReturnType<typeof newLogin>;
  readonly fault: string | undefined;
  /** A hand-off that takes less did not need a poll. */
  readonly soon: number;
}

async function once(deployment: Deployment, disturbance: Disturbance, round: Round): Promise<void> {
  const { instances, random, problems, fault } = round;
  const { name, works, ends = false, begin } = disturbance;
  const master = await deployment.master();
  await Promise.all(instances.map((one) => one.warmUp()));
  const keys: string[] = [];
  const key = (): string => {
    const next = deployment.key();
    keys.push(next);
    return next;
  };
  const programs = new Programs(instances, { ...round, name, ends, key });
  try {
    await until(() => programs.alone.every((count) => count >= USED), {
      within: paced(GRANTED_MS),
    });
    const end = await begin({ ...round, deployment, master, keys: [...keys] });
    const before = programs.alone;
    const used = (): boolean => programs.alone.every((n, at) => n >= (before[at] as number) + USED);
    await sleep(between(random, ...LASTS_MS));
    if (works) {
      const within = paced(fault === undefined ? GRANTED_MS : STUCK_MS);
      await until(used, { within }).catch((error: unknown) =>
        problems.add('stuck', `a lock with one user, ${name}: ${String(error)}`),
      );
    }
    await end();
    await deployment.settled().catch(trouble('the servers did not settle'));
    // a planted fault that was found may leave nothing that goes on
    const isFound = fault !== undefined && problems.total > 0;
    if (!isFound && (await programs.goesOn())) await programs.isPushed(round.soon);
    add(round, `${name}: rounds`);
  } finally {
    await programs.stop();
  }
}

function trialOn(name: string, start: Start, kinds: readonly Disturbance[]): Trial {
  const planted = kinds.flatMap(({ fault = [] }) => fault);
  return {
    name,
    claim: 'what disturbs programs and loses no data of the servers takes no lease from them',
    ...{ full: { trials: 20, others: kinds.length, tasks: 2 }, share: { trials: 1, others: 1 } },
    faults: [...new Set(planted)],
    run(parameters) {
      const { client, fault } = parameters;
      const fitting = kinds
        .filter((kind) => fault === undefined || kind.fault === fault)
        .filter(({ clients = '' }) => client.startsWith(clients));
      return inLanes(parameters, fitting, (lane, rounds) => onDeployment(start, lane, rounds));
    },
  };
}

export const disturbedSentinel: Trial = trialOn('disturbed-sentinel', sentinels, SENTINEL);
export const disturbedCluster: Trial = trialOn('disturbed-cluster', cluster, CLUSTER);
