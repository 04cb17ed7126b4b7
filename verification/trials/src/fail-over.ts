/**
 * A master is lost and a replica takes its place, while locks are granted, held and waited for.
 * Half of the locks count only when all replicas have them (the option `replicas`).
 *
 * After each fail-over another process tries every lock. If it gets one that its holder still
 * believes in, the lock was lost. Without acknowledgement that is a figure, with it a problem.
 */
import { Holdfast, type Lease } from 'holdfast';
import { type Server, sleep, until } from 'holdfast-testkit';
import { cluster, type Deployment, sentinels } from './fail-over/deployments.js';
import type { Connected } from './support/clients.js';
import { Problems } from './support/problems.js';
import { between, type Random, randomFrom } from './support/random.js';
import { type Parameters, type Trial, type Verdict, verdict } from './trial.js';

/** Longer than a fail-over and its checks, so a holder has no reason to lose its lease. */
const TTL = 120_000;
const OPTIONS = { ttl: TTL, claimWindow: 500, requestTimeout: 500, unreachableAfter: 60_000 };
/** For how long locks are granted before the master is lost, in ms. */
const GRANTING = { from: 20, to: 120 };
const SERVED_MS = 20_000;

/** How the master is lost. `cut` means that its replicas are cut off from it some time before. */
const FAULTS = ['cut, killed', 'killed', 'frozen', 'cut, frozen', 'replaced'] as const;
type Fault = (typeof FAULTS)[number];
const MODES = ['with', 'without'] as const;
type Mode = (typeof MODES)[number];

/** The processes of one mode. */
interface Party {
  readonly mode: Mode;
  readonly holder: Holdfast;
  readonly waiter: Holdfast;
}

interface Scenario {
  readonly deployment: Deployment;
  readonly parties: readonly Party[];
  readonly challenger: Holdfast;
  readonly random: Random;
  readonly problems: Problems;
  readonly figures: Record<string, number>;
}

type Start = (server: Parameters['server']) => Promise<Deployment>;

async function run(
  start: Start,
  { server, client, seed, fault, trials, others }: Parameters,
): Promise<Verdict> {
  const deployment = await start(server);
  const open: Connected[] = [];
  const instances: Holdfast[] = [];
  const instance = async (replicas: number): Promise<Holdfast> => {
    const connected = await deployment.connect(client);
    open.push(connected);
    const one = new Holdfast(connected.client, { ...OPTIONS, replicas });
    instances.push(one);
    return one;
  };
  const problems = new Problems();
  const figures: Record<string, number> = {};
  try {
    const acknowledged = fault === 'no-acknowledgement' ? 0 : deployment.replicas;
    const parties: Party[] = [];
    for (const mode of MODES) {
      const replicas = mode === 'with' ? acknowledged : 0;
      parties.push({ mode, holder: await instance(replicas), waiter: await instance(replicas) });
    }
    const challenger = await instance(0);
    const random = randomFrom(seed);
    const scenario = { deployment, parties, challenger, random, problems, figures };
    for (let at = 0; at < trials; at++) {
      for (const how of FAULTS.slice(0, others)) await once(scenario, how);
    }
    return verdict(figures, problems.list());
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
  const { deployment, parties, problems } = scenario;
  const master = await deployment.master();
  const replicas = await deployment.replicasOf(master);
  const begun = await Promise.all(parties.map((party) => begin(scenario, party)));
  const stop = new AbortController();
  const granting = begun.map((held, at) => grant(scenario, parties[at] as Party, held, stop));
  if (how.startsWith('cut')) {
    await sleep(between(scenario.random, GRANTING.from, GRANTING.to));
    await Promise.all(replicas.map((replica) => cut(replica, master)));
  }
  await sleep(between(scenario.random, GRANTING.from, GRANTING.to));
  if (how === 'replaced') await deployment.replace(master);
  else if (how.endsWith('killed')) await master.kill();
  else master.pause();
  stop.abort();
  await deployment.successor(master);
  await Promise.all(granting);
  add(scenario, `fail-overs, ${how}`);
  for (const held of begun) await judge(scenario, how, held);
  await Promise.all(replicas.map(heal));
  if (how.endsWith('killed')) await master.restart();
  else if (how.endsWith('frozen')) master.resume();
  await deployment.settled().catch((error: unknown) => problems.add('deployment', String(error)));
}

/** One lock for which another process waits. */
async function begin({ deployment }: Scenario, { mode, holder, waiter }: Party): Promise<Held> {
  const key = deployment.key();
  // the replicas may not be ready yet
  const awaited = await until(() => holder.mutex(key).acquire(), { within: 30_000, every: 50 });
  const waits = waiter.mutex(key).acquire();
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
  stop: AbortController,
): Promise<void> {
  while (!stop.signal.aborted) {
    try {
      leases.push(await holder.mutex(scenario.deployment.key()).acquire({ signal: stop.signal }));
    } catch (error) {
      const { code } = error as { code?: string };
      if (code !== 'HOLDFAST_ABORTED') add(scenario, `${mode} acknowledgement: ${code}`);
    }
  }
}

/** The replica loses its connection to the master, and does not get another one. */
async function cut(replica: Server, master: Server): Promise<void> {
  await replica.command('CONFIG', 'SET', 'masteruser', 'unknown');
  await replica.command('CONFIG', 'SET', 'masterauth', 'wrong');
  await master.command('CLIENT', 'KILL', 'TYPE', 'replica');
}

async function heal(replica: Server): Promise<void> {
  await replica.command('CONFIG', 'SET', 'masteruser', '');
  await replica.command('CONFIG', 'SET', 'masterauth', '');
}

async function judge(scenario: Scenario, how: Fault, held: Held): Promise<void> {
  const { challenger, problems } = scenario;
  const { mode, leases, awaited, waits } = held;
  for (const lease of leases) {
    if (!lease.held) continue;
    add(scenario, `held over a fail-over, ${how}, ${mode} acknowledgement`);
    const { other } = await until(
      async () => ({ other: await challenger.mutex(lease.key).tryAcquire() }),
      { within: 30_000, every: 20, what: 'the store answers' },
    );
    if (other !== null && lease.held) {
      add(scenario, `lost, ${how}, ${mode} acknowledgement`);
      if (mode === 'with') problems.add('lost', `${lease.key}, ${how}: two holders`);
      if (other.fence <= lease.fence) {
        problems.add('fence', `${lease.key}, ${how}: ${other.fence} after ${lease.fence}`);
      }
    }
    await other?.release();
    await lease.release().catch(() => undefined);
  }
  await awaited.release().catch(() => undefined);
  const served = await Promise.race([
    waits.catch((error: unknown) => error as { code?: string }),
    sleep(SERVED_MS).then(() => undefined),
  ]);
  // right after a fail-over, the new master may have too few replicas for a grant
  if (served !== undefined && 'code' in served && served.code === 'HOLDFAST_UNACKNOWLEDGED') {
    add(scenario, 'waiters told that too few replicas have the grant');
  } else if (served === undefined || !('fence' in served)) {
    const why = served === undefined ? 'no answer' : served.code;
    problems.add('unserved', `${awaited.key}, ${how}, ${mode}: ${why}`);
  } else {
    add(scenario, 'waiters served');
    if (served.fence <= awaited.fence) problems.add('fence', `${awaited.key}, ${how}`);
    await served.release().catch(() => undefined);
  }
}

function add({ figures }: Scenario, name: string): void {
  figures[name] = (figures[name] ?? 0) + 1;
}

function trialOn(name: string, start: Start): Trial {
  return {
    name,
    claim: 'no lock that all replicas have acknowledged has two holders after a fail-over',
    full: { trials: 100, others: FAULTS.length },
    share: { trials: 1, others: 1 },
    faults: ['no-acknowledgement'],
    run: (parameters) => run(start, parameters),
  };
}

export const sentinelTrial: Trial = trialOn('fail-over-sentinel', sentinels);
export const clusterTrial: Trial = trialOn('fail-over-cluster', cluster);
