/**
 * One run: processes lock while faults are injected into them and their servers. Then the faults
 * end, the processes recover and finish, and the checker reads all histories together.
 *
 * Three sequences of faults run at the same time: one for the servers, two for the processes.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  ALL,
  type Excuse,
  type HistoryEvent,
  readEvents,
  type Violation,
  violations,
  violationsSoFar,
} from 'holdfast-checker';
import { Holdfast } from 'holdfast';
import { until } from 'holdfast-testkit';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { Problems } from 'holdfast-trials/support/problems';
import { Participants } from './participants.js';
import type { FaultContext } from './faults/fault.js';
import { recordQueues } from './queues.js';
import { note, type Scenario } from './scenario.js';
import { sequence } from './schedule.js';
import {
  LOCAL_HAND_OFFS,
  LOCKS,
  OBSERVER,
  type PLANTED,
  type StoreName,
  termsOf,
  ttlsOf,
} from './settings.js';
import { startTarget } from './targets.js';

export interface Parameters {
  readonly server: StoreName;
  /** How long faults are injected. */
  readonly seconds: number;
  readonly seed: number;
  readonly processes: number;
  /** Tasks in each process. */
  readonly tasks: number;
  /** The folder for the histories. */
  readonly folder: string;
  /** The number of servers of a quorum; 1: one server with a standby. */
  readonly quorum?: number | undefined;
  /** True if the servers of the quorum lose their memory now and then. */
  readonly forgets?: boolean | undefined;
  /** False: no network namespaces; proxies make all faults of the network. */
  readonly hosts?: boolean;
  /** A fault to plant in the processes; the run must find it. */
  readonly fault?: (typeof PLANTED)[number] | undefined;
  /** Ends the faults at the first violation, and waits less long for a process that hangs. */
  readonly hunt?: boolean;
}

export interface Outcome {
  readonly store: StoreName;
  readonly version: string;
  readonly events: readonly HistoryEvent[];
  readonly problems: Problems;
  /** Numbers of excused violations by excuse. */
  readonly excused: ReadonlyMap<Excuse, number>;
  /** Kinds of faults that were drawn when they were not possible. */
  readonly skipped: readonly string[];
  /** With `hunt`: seconds of faults until the first violation. */
  readonly foundAfter: number | undefined;
  /** How the faults of the network and of the clock are made on this machine. */
  readonly means: Readonly<Record<string, string>>;
}

/** Added to the bounds of the checker, because the machine may be busy. */
const SLACK_MS = 30_000;
/** For so long after a fault a waiter may still lose its turn. */
const FELT_MS = 4000;
/** A run of at least `QUIET_FROM_S` continues for so long without faults, to check queue order. */
const QUIET_MS = 14_000;
const QUIET_FROM_S = 30;
const SEQUENCES_OF_PROCESSES = 2;
const CHECK_EVERY_MS = 1000;
const SETTLED_MS = 2000;
/** For the observation of the final state. */
const CALM_LIMITS = { within: 30_000, every: 50 };
const PATIENCE_MS = { run: 60_000, hunt: 20_000 } as const;

export async function torture(parameters: Parameters): Promise<Outcome> {
  const { seconds, seed, tasks, fault, hunt = false, folder, quorum: size = 1 } = parameters;
  const { scenario, processFaults: faults, inject } = await startTarget(parameters);
  const participants = new Participants(scenario, {
    seed,
    tasks,
    fault,
    patience: PATIENCE_MS[hunt ? 'hunt' : 'run'],
  });
  try {
    const localHandOffs = Math.max(...LOCAL_HAND_OFFS);
    const servers = scenario.routes[0]?.urls.length ?? 1;
    const ttl = Math.max(...ttlsOf(servers));
    const bounds = { slack: SLACK_MS, felt: FELT_MS };
    note(scenario, { e: 'begin', ...termsOf(servers), ttl, localHandOffs, seed, ...bounds });
    await participants.start();
    const { context, run } = inject(participants, seconds * 1000);
    const sequences = [run(seed)];
    for (let index = 1; index <= SEQUENCES_OF_PROCESSES; index++) {
      sequences.push(sequence(context, faults, seed + index * 7919));
    }
    const found = hunt ? watchForViolations(context, folder) : undefined;
    await Promise.all(sequences);
    const foundAfter = await found;
    await participants.recover();
    note(scenario, { e: 'calm' });
    if (!hunt && size === 1 && seconds >= QUIET_FROM_S) {
      const names = participants.all.map(({ name }) => name);
      await recordQueues(scenario, QUIET_MS, names);
    }
    await participants.finish();
    await recordFinalState(scenario);
    note(scenario, { e: 'end' });
    await participants.close();
    return { ...outcomeOf(parameters, scenario, participants, context), foundAfter };
  } finally {
    await participants.close();
    await scenario.close();
  }
}

/**
 * Ends the faults when the checker finds a violation. It reads only events older than `SETTLED_MS`,
 * because an `amnesia` is written after the loss.
 */
async function watchForViolations(
  context: FaultContext,
  folder: string,
): Promise<number | undefined> {
  const from = monotonic();
  while (!context.over) {
    await context.sleep(CHECK_EVERY_MS);
    const till = monotonic() - SETTLED_MS;
    const known = eventsIn(folder).filter(({ t, e }) => t < till || e === 'amnesia');
    if (sortViolations(known, violationsSoFar(known, ALL)).problems.total === 0) continue;
    context.stop();
    return (till - from) / 1000;
  }
  return undefined;
}

/** Records the final state of the store. A killed process may hold a lease for one ttl. */
async function recordFinalState(scenario: Scenario): Promise<void> {
  const { store, close } = await scenario.open();
  const holdfast = new Holdfast(store, OBSERVER);
  const record = async (k: string): Promise<void> => {
    const free = async (): Promise<boolean> => (await holdfast.inspect(k)) === null;
    await until(free, CALM_LIMITS).catch(() => undefined);
    // on a busy machine a server may answer one inspection too late
    const { info } = await until(async () => ({ info: await holdfast.inspect(k) }), CALM_LIMITS);
    const seen = info?.holders ?? [];
    const holders = seen.map(({ id, fence, permits: weight }) => ({ id, fence, weight }));
    const waiters = (info?.waiters ?? []).map(({ id }) => id);
    note(scenario, { e: 'seen', k, holders, waiters, last: true });
  };
  await Promise.all(LOCKS.map(record));
  await holdfast.close();
  await close();
}

function eventsIn(folder: string): HistoryEvent[] {
  const events: HistoryEvent[] = [];
  for (const file of readdirSync(folder)) {
    if (!file.endsWith('.jsonl')) continue;
    for (const event of readEvents(join(folder, file))) events.push(event);
  }
  return events.sort((a, b) => a.t - b.t);
}

/** Checks the histories of a folder. */
export function readOutcome(folder: string): Pick<Outcome, Read> {
  const events = eventsIn(folder);
  return { events, ...sortViolations(events, violations(events, ALL)) };
}

interface CheckResult {
  readonly problems: Problems;
  readonly excused: ReadonlyMap<Excuse, number>;
}

/** Sorts violations, and adds errors that the library does not define. */
function sortViolations(events: readonly HistoryEvent[], found: readonly Violation[]): CheckResult {
  const problems = new Problems();
  const excused = new Map<Excuse, number>();
  for (const { check, text, excuse } of found) {
    if (excuse === undefined) problems.add(check, text);
    else excused.set(excuse, (excused.get(excuse) ?? 0) + 1);
  }
  for (const event of events) {
    const code = event.e === 'released' ? event.outcome : 'code' in event ? event.code : null;
    if (code?.startsWith('unexpected') === true) problems.add('error', `${event.p}: ${code}`);
  }
  return { problems, excused };
}

type Read = 'events' | 'problems' | 'excused';

function outcomeOf(
  parameters: Parameters,
  scenario: Scenario,
  participants: Participants,
  context: FaultContext,
): Omit<Outcome, 'foundAfter'> {
  const read = readOutcome(parameters.folder);
  const { problems } = read;
  for (const problem of participants.problems) problems.add('process', problem);
  return {
    ...read,
    store: scenario.store,
    version: scenario.version,
    skipped: context.skipped,
    means: meansOf(scenario),
  };
}

function meansOf({ routes, store, clock }: Scenario): Record<string, string> {
  if (store === 'sqlite') return {};
  if (store === 'etcd') return { 'clock of a member': 'the proxies change the header Date' };
  const hosts = routes.filter(({ wire }) => wire !== undefined).length;
  return {
    partitions:
      hosts > 0
        ? `${hosts} network namespaces; ${routes.length - hosts} processes use a proxy`
        : 'proxies only, without network namespaces',
    'wall clock':
      clock === undefined ? 'not stepped: no C compiler' : 'stepped by a preloaded library',
  };
}
