/**
 * Leases are held while the memory or the clock of their master changes: it starts again before a
 * fail-over, a server with another clock takes over, or their slots move to such a server.
 *
 * Another process waits for each lock. If it gets one that its holder still believes in, the lock
 * had two holders. `trials` is the number of rounds of each kind, `others` the number of kinds,
 * `tasks` the number of deployments at the same time.
 */
import { Holdfast, type HoldfastOptions, type Lease } from 'holdfast';
import { type ClockShim, makeClockShim, sleep, until } from 'holdfast-testkit';
import { type Change, CLOCKS, MOVES, RESTARTS } from './changed-masters/changes.js';
import {
  cluster,
  type Deployment,
  sentinels,
  type Setup,
  type Start,
} from './fail-over/deployments.js';
import { inLanes, type Rounds } from './fail-over/lanes.js';
import { add, type Output, trouble } from './fail-over/scenario.js';
import type { Connected } from './support/clients.js';
import { between } from './support/random.js';
import type { Parameters, Trial } from './trial.js';

/** Longer than a change, so that most leases are still held after it. */
const TTL = 6000;
const OPTIONS = { ttl: TTL, claimWindow: 500, requestTimeout: 500, unreachableAfter: 60_000 };
/** Locks of a round; every second lease is not renewed. */
const LOCKS = 10;
/** The ms after which the holder releases what it still has. */
const KEPT_MS = 2 * TTL;
const SERVED_MS = 60_000;
/** A deployment under test is down for a moment, and no other server may take over by itself. */
const DOWN_AFTER = 10_000;
/** The most ms by which the clock of a server is ahead. */
const AHEAD = 5000;

/** A family of changes. */
interface Family {
  readonly claim: string;
  readonly kinds: readonly Change[];
  readonly clocks: boolean;
  /** Whether the replicas must acknowledge what the other process gets, too. */
  readonly bothAcknowledged: boolean;
  /** The options that the claim needs. */
  readonly options: HoldfastOptions;
  /** The planted fault, which leaves them out. */
  readonly fault: string;
  readonly without: HoldfastOptions;
}

const RESTARTED: Family = {
  claim: 'no acknowledged lock has two holders after its master has started again',
  ...{ kinds: RESTARTS, clocks: false, bothAcknowledged: true },
  ...{ options: {}, fault: 'no-guard', without: { restartGuard: 0 } },
};

const clocks = (kinds: readonly Change[]): Family => ({
  claim: 'no lock has two holders if the clocks of servers differ by less than clockMargin',
  ...{ kinds, clocks: true, bothAcknowledged: false },
  // no master starts again before its fail-over
  options: { restartGuard: 0, clockMargin: AHEAD + 500 },
  ...{ fault: 'no-margin', without: { restartGuard: 0 } },
});

interface Scene extends Output {
  readonly deployment: Deployment;
  readonly holder: Holdfast;
  readonly challenger: Holdfast;
}

async function onDeployment(
  start: (setup: Setup) => Promise<Deployment>,
  { server, client, fault }: Parameters,
  { clocks, bothAcknowledged, options, without }: Family,
  { rounds, random, ...output }: Rounds<Change>,
): Promise<void> {
  const shims = clocks ? await Promise.all(SERVERS.map(makeClock)) : [];
  // the first server, which is the master, has the time of this machine
  for (const [at, shim] of shims.entries())
    if (at > 0) shim.step(between(random, AHEAD - 500, AHEAD));
  const envOf = (at: number): ClockShim['env'] => shims[at]?.env ?? {};
  const deployment = await start({ server, envOf, downAfter: DOWN_AFTER });
  const open: Connected[] = [];
  const instances: Holdfast[] = [];
  const instance = async (acknowledged: boolean): Promise<Holdfast> => {
    const connected = await deployment.connect(client);
    open.push(connected);
    const given = fault === undefined ? options : without;
    const replicas = acknowledged ? deployment.replicas : 0;
    const one = new Holdfast(connected.client, { ...OPTIONS, ...given, replicas });
    instances.push(one);
    return one;
  };
  try {
    const [holder, challenger] = [await instance(true), await instance(bothAcknowledged)];
    for (const change of [...rounds]) {
      await once({ ...output, deployment, holder, challenger }, change);
      rounds.shift();
    }
  } finally {
    await Promise.all(instances.map((one) => one.close({ grace: 0 })));
    for (const one of open) one.close();
    await deployment.stop();
  }
}

/** As many as a deployment has at most. */
const SERVERS = Array.from({ length: 6 }, (_, at) => at);

async function makeClock(): Promise<ClockShim> {
  const shim = await makeClockShim();
  if (shim === undefined) throw new Error('the clock of a server cannot be set without a compiler');
  return shim;
}

async function once(scene: Scene, change: Change): Promise<void> {
  const { deployment, holder } = scene;
  const master = await deployment.master();
  await change.prepare(master);
  const leases: Lease[] = [];
  for (let at = 0; at < LOCKS; at++) leases.push(await granted(scene, at % 2 === 0));
  const stop = new AbortController();
  const judging = leases.map((lease) => judge(scene, change, lease, stop.signal));
  const keys = leases.map(({ key }) => key);
  let end: () => Promise<void>;
  try {
    end = await change.apply({ deployment, master, keys });
  } catch (error) {
    stop.abort();
    await Promise.all(judging);
    throw error;
  }
  add(scene, `${change.name}: rounds`);
  await Promise.all(judging);
  await end();
  await deployment.settled().catch(trouble('the replicas did not connect again'));
  const patience = { within: SERVED_MS, every: 50, what: 'the holder reaches its store' };
  await until(() => holder.ready().then(() => true), patience);
}

/** A lease; right after a change the master may not grant yet. */
async function granted({ deployment, holder }: Scene, renew: boolean): Promise<Lease> {
  const key = deployment.key();
  const patience = { within: SERVED_MS, every: 50, what: 'a lock is granted' };
  return until(() => holder.mutex(key).acquire({ renew }), patience);
}

/** Another process waits for the lock of a lease. Nothing counts once the change has failed. */
async function judge(
  scene: Scene,
  change: Change,
  lease: Lease,
  signal: AbortSignal,
): Promise<void> {
  const { challenger, problems } = scene;
  const over = new AbortController();
  const kept = releaseLater(scene, change, lease, AbortSignal.any([over.signal, signal]));
  const mutex = challenger.mutex(lease.key);
  // while a replica is missing, a waiter is told so
  const patience = { within: SERVED_MS, every: 20, what: 'another process gets the lock' };
  const ask = async (): Promise<Lease | 'failed'> =>
    signal.aborted ? 'failed' : mutex.acquire({ wait: SERVED_MS, signal });
  try {
    const next = await until(ask, patience);
    if (next === 'failed') return;
    const how = lease.held ? 'two holders' : 'one holder';
    add(scene, `${change.name}: ${how}`);
    if (lease.held) problems.add('lost', `${lease.key}, ${change.name}: two holders`);
    if (next.fence <= lease.fence) {
      problems.add('fence', `${lease.key}, ${change.name}: ${next.fence} after ${lease.fence}`);
    }
    await next.release().catch(() => undefined);
  } catch (error) {
    problems.add('unserved', `${lease.key}, ${change.name}: ${String(error)}`);
  } finally {
    over.abort();
    await kept;
  }
}

/** Releases a lease that its holder still has. */
async function releaseLater(
  scene: Scene,
  { name }: Change,
  lease: Lease,
  over: AbortSignal,
): Promise<void> {
  for (const end = performance.now() + KEPT_MS; performance.now() < end && !over.aborted; ) {
    await sleep(50);
  }
  if (lease.held && !over.aborted) add(scene, `${name}: held on to the end`);
  await lease.release().catch(() => undefined);
}

function trialOn(name: string, start: Start, family: Family): Trial {
  const { claim, kinds, fault } = family;
  return {
    ...{ name, claim, faults: [fault] },
    full: { trials: 10, others: kinds.length, tasks: 2 },
    share: { trials: 1, others: 1 },
    run: (parameters) =>
      inLanes(parameters, kinds, (lane, rounds) => onDeployment(start, lane, family, rounds)),
  };
}

export const restartedSentinel: Trial = trialOn('restarts-sentinel', sentinels, RESTARTED);
export const restartedCluster: Trial = trialOn('restarts-cluster', cluster, RESTARTED);
export const clocksSentinel: Trial = trialOn('clocks-sentinel', sentinels, clocks(CLOCKS));
export const clocksCluster: Trial = trialOn(
  'clocks-cluster',
  cluster,
  clocks([...MOVES, ...CLOCKS]),
);
