/**
 * A master is lost and a replica takes its place, while locks are granted, held, renewed and waited
 * for. Half of the locks count only when all replicas have them (the option `replicas`).
 *
 * After each fail-over another process tries every lock. If it gets one that its holder still
 * believes in, the lock was lost. Without acknowledgement that is a figure, with it a problem.
 * `trials` is the number of fail-overs of each kind, `others` the number of kinds, `tasks` the
 * number of deployments at the same time.
 */
import { Holdfast, type Lease } from 'holdfast';
import { sleep, until } from 'holdfast-testkit';
import { cluster, sentinels, type Start } from './fail-over/deployments.js';
import { type Fault, FAULTS, strike } from './fail-over/faults.js';
import { inLanes, type Rounds } from './fail-over/lanes.js';
import { add, type Mode, MODES, type Party, type Scenario, trouble } from './fail-over/scenario.js';
import type { Connected } from './support/clients.js';
import type { Parameters, Trial } from './trial.js';

/** Longer than a fail-over and its checks, so a holder has no reason to lose its lease. */
const TTL = 120_000;
const OPTIONS = {
  ...{ ttl: TTL, claimWindow: 500, requestTimeout: 500, unreachableAfter: 60_000 },
  // the servers of a trial start a moment before; no master starts again before its fail-over
  restartGuard: 0,
};
/** A lease of this length is renewed several times between one fail-over and the next. */
const RENEWED_TTL = 6000;
const SERVED_MS = 20_000;
/** The ttl of a lock with a waiter: a release that only the old master has is a wait until then. */
const AWAITED_TTL = 8000;
/** A process has fewer connections to one server, unless it leaves some behind. */
const CONNECTIONS_MAX = 4;
/** Locks that are tried at the same time. */
const AT_ONCE = 25;

/** One deployment with its processes, until its rounds are over or its servers fail. */
async function onDeployment(
  start: Start,
  { server, client, fault }: Parameters,
  { rounds, ...rest }: Rounds<Fault>,
): Promise<void> {
  const deployment = await start({ server });
  const open: Connected[] = [];
  const instances: Holdfast[] = [];
  const instance = async (replicas: number): Promise<Holdfast> => {
    const connected = await deployment.connect(client);
    open.push(connected);
    const one = new Holdfast(connected.client, { ...OPTIONS, replicas });
    instances.push(one);
    return one;
  };
  try {
    const acknowledged = fault === 'no-acknowledgement' ? 0 : deployment.replicas;
    const parties: Party[] = [];
    for (const mode of MODES) {
      const replicas = mode === 'with' ? acknowledged : 0;
      const [holder, waiter] = [await instance(replicas), await instance(replicas)];
      parties.push({ mode, replicas, holder, waiter, renewed: undefined });
    }
    const keepsLocks = fault === 'kept-locks';
    const challenger = await instance(0);
    const scenario = { ...rest, deployment, parties, challenger, keepsLocks };
    for (const how of [...rounds]) {
      if (how.end !== 'isolated' || deployment.isolates) await once(scenario, how);
      checkConnections(scenario, instances.length);
      rounds.shift();
    }
  } finally {
    await Promise.all(instances.map((one) => one.close({ grace: 0 })));
    for (const one of open) one.close();
    await deployment.stop();
  }
}

interface Held {
  readonly mode: Mode;
  readonly leases: Lease[];
  readonly awaited: Lease;
  readonly waits: Promise<Lease>;
}

async function once(scenario: Scenario, how: Fault): Promise<void> {
  const { deployment, parties } = scenario;
  const master = await deployment.master();
  const begun = await Promise.all(parties.map((party) => begin(scenario, party)));
  const stop = new AbortController();
  // an isolated master grants for seconds
  const every = how.end === 'isolated' ? 10 : 1;
  const granting = begun.map((held, at) =>
    grant(scenario, parties[at] as Party, held, { stop, every }),
  );
  const granted = begun.flatMap(({ leases }, at) => (parties[at]?.replicas ? [] : [leases]));
  let repair: () => Promise<void>;
  try {
    repair = await strike(deployment, { ...scenario, fault: how, master, granted });
    // an isolated master goes on until its clients leave it
    if (how.end !== 'isolated') stop.abort();
    await deployment.successor(master).catch(trouble('the servers elected no master'));
  } finally {
    stop.abort();
    await Promise.all(granting);
  }
  add(scenario, `${how.name}: fail-overs`);
  const told = await Promise.all(begun.map((held) => judge(scenario, how, held)));
  await repair();
  await deployment.settled().catch(trouble('the replicas did not connect again'));
  await Promise.all(
    told.map((key, at) => servedLater(scenario, parties[at] as Party, { how, key })),
  );
  for (const party of parties) await checkRenewed(scenario, party);
}

/** One lock for which another process waits. */
async function begin({ deployment }: Scenario, party: Party): Promise<Held> {
  const { mode, holder, waiter } = party;
  const key = deployment.key();
  // the replicas may not be ready yet
  const patience = { within: 30_000, every: 50, what: 'a lock is granted' };
  const terms = { ttl: AWAITED_TTL };
  const awaited = await until(() => holder.mutex(key, terms).acquire(), patience);
  party.renewed ??= await holder.mutex(deployment.key(), { ttl: RENEWED_TTL }).acquire();
  const waits = waiter.mutex(key, terms).acquire();
  waits.catch(() => undefined);
  const queued = async (): Promise<boolean> => (await holder.inspect(key))?.waiterCount === 1;
  await until(queued, { within: 10_000 });
  return { mode, leases: [], awaited, waits };
}

/** Locks that are granted one after the other until the master is lost. */
async function grant(
  scenario: Scenario,
  { mode, holder }: Party,
  { leases }: Held,
  { stop, every }: { stop: AbortController; every: number },
): Promise<void> {
  while (!stop.signal.aborted) {
    await sleep(every);
    try {
      leases.push(await holder.mutex(scenario.deployment.key()).acquire({ signal: stop.signal }));
    } catch (error) {
      const { code } = error as { code?: string };
      if (code !== 'HOLDFAST_ABORTED') add(scenario, `${mode} acknowledgement: ${code}`);
    }
  }
}

/** Returns the key of a lock whose waiter was told that too few replicas have its grant. */
async function judge(scenario: Scenario, how: Fault, held: Held): Promise<string | undefined> {
  const { mode, leases, awaited, waits } = held;
  for (let from = 0; from < leases.length; from += AT_ONCE) {
    const part = leases.slice(from, from + AT_ONCE);
    await Promise.all(part.map((lease) => challenge(scenario, how, mode, lease)));
  }
  if (!scenario.keepsLocks) await awaited.release().catch(() => undefined);
  const served = await Promise.race([
    waits.catch((error: unknown) => error as { code?: string; message: string }),
    sleep(SERVED_MS).then(() => undefined),
  ]);
  // right after a fail-over, the new master may have too few replicas for a grant
  if (served !== undefined && 'code' in served && served.code === 'HOLDFAST_UNACKNOWLEDGED') {
    add(scenario, 'waiters told that too few replicas have the grant');
    return awaited.key;
  }
  const { problems } = scenario;
  if (served === undefined || !('fence' in served)) {
    const why = served === undefined ? 'no answer' : served.message;
    problems.add('unserved', `${awaited.key}, ${how.name}, ${mode}: ${why}`);
    return undefined;
  }
  add(scenario, 'waiters served');
  if (served.fence <= awaited.fence) problems.add('fence', `${awaited.key}, ${how.name}`);
  await served.release().catch(() => undefined);
  return undefined;
}

/** Another process tries a lock. */
async function challenge(scenario: Scenario, how: Fault, mode: Mode, lease: Lease): Promise<void> {
  if (!lease.held) return;
  const { challenger, problems } = scenario;
  add(scenario, `${how.name}: held, ${mode} acknowledgement`);
  const { other } = await until(
    async () => ({ other: await challenger.mutex(lease.key).tryAcquire() }),
    { within: 30_000, every: 20, what: 'the store answers' },
  );
  if (other !== null && lease.held) {
    add(scenario, `${how.name}: lost, ${mode} acknowledgement`);
    if (mode === 'with') problems.add('lost', `${lease.key}, ${how.name}: two holders`);
    if (other.fence <= lease.fence) {
      problems.add('fence', `${lease.key}, ${how.name}: ${other.fence} after ${lease.fence}`);
    }
  }
  await other?.release().catch(() => undefined);
  await lease.release().catch(() => undefined);
}

/** A waiter that was told so repeats its call when the replicas are back. */
async function servedLater(
  scenario: Scenario,
  party: Party,
  { how, key }: { readonly how: Fault; readonly key: string | undefined },
): Promise<void> {
  if (key === undefined) return;
  const { problems } = scenario;
  const mutex = party.waiter.mutex(key, { ttl: AWAITED_TTL });
  const again = async (): Promise<Lease> => mutex.acquire({ wait: SERVED_MS });
  try {
    await (await until(again, { within: SERVED_MS, every: 50 })).release().catch(() => undefined);
    add(scenario, 'waiters served when the replicas are back');
  } catch (error) {
    const { cause = error } = error as { cause?: unknown };
    problems.add('unserved', `${key}, ${how.name}, with all replicas: ${String(cause)}`);
  }
}

/** A lease from before the last fail-over: renewed at its new master, or its holder was told. */
async function checkRenewed(scenario: Scenario, party: Party): Promise<void> {
  const { renewed, mode } = party;
  if (renewed === undefined) return;
  const other = await scenario.challenger
    .mutex(renewed.key)
    .tryAcquire()
    .catch(() => null);
  if (other !== null && renewed.held) {
    add(scenario, `renewed leases: lost, ${mode} acknowledgement`);
    if (mode === 'with') scenario.problems.add('lost', `${renewed.key}, a renewed lease`);
  } else {
    const end = renewed.held ? 'held on' : 'ended, its holder was told';
    add(scenario, `renewed leases: ${end}, ${mode} acknowledgement`);
  }
  await other?.release().catch(() => undefined);
  if (!renewed.held || other !== null) party.renewed = undefined;
}

/** No process keeps connections to masters that were replaced. */
function checkConnections({ deployment, problems, figures }: Scenario, processes: number): void {
  const { connections } = deployment.doors;
  const name = 'most connections of a process';
  figures[name] = Math.max(figures[name] ?? 0, Math.ceil(connections / processes));
  const most = CONNECTIONS_MAX * deployment.doors.count * processes;
  if (connections > most) problems.add('connections', `${connections} of ${processes} processes`);
}

function trialOn(name: string, start: Start): Trial {
  return {
    name,
    claim: 'no lock that all replicas have acknowledged has two holders after a fail-over',
    full: { trials: 100, others: FAULTS.length, tasks: 4 },
    share: { trials: 1, others: 1 },
    faults: ['no-acknowledgement', 'kept-locks'],
    run: (parameters) =>
      inLanes(parameters, FAULTS, (lane, rounds) => onDeployment(start, lane, rounds)),
  };
}

export const sentinelTrial: Trial = trialOn('fail-over-sentinel', sentinels);
export const clusterTrial: Trial = trialOn('fail-over-cluster', cluster);
