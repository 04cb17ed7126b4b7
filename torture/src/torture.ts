/**
 * One run: processes lock, faults happen to them and to their servers, everything calms down, and
 * the histories of all are read together.
 *
 * Three sequences of faults run at the same time: one for the server, two for the processes.
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
import { type ServerName, until } from 'holdfast-testkit';
import { connect } from 'holdfast-trials/support/clients';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { Problems } from 'holdfast-trials/support/problems';
import { Cast } from './cast.js';
import { failovers } from './faults/failover.js';
import { Scene } from './faults/fault.js';
import { forgettingFaults } from './faults/forgetting.js';
import { processFaults } from './faults/processes.js';
import { serverFaults } from './faults/server.js';
import { sequence } from './schedule.js';
import { HAND_OFFS, LOCKS, OBSERVER, OPTIONS, type PLANTED, TTLS } from './settings.js';
import { quiet } from './queues.js';
import { makeStage, note, type Stage } from './stage.js';

export interface Parameters {
  readonly server: ServerName;
  /** How long faults happen. */
  readonly seconds: number;
  readonly seed: number;
  readonly processes: number;
  /** Tasks in each process. */
  readonly tasks: number;
  /** Where the histories go. */
  readonly folder: string;
  /** False: proxies make all faults of the network, as where nothing else is allowed. */
  readonly hosts?: boolean;
  /** A fault that is planted in the processes; the run has to find it. */
  readonly fault?: (typeof PLANTED)[number] | undefined;
  /** Faults end as soon as something is violated, and who hangs is not waited for long. */
  readonly hunt?: boolean;
}

export interface Outcome {
  readonly version: string;
  readonly events: readonly HistoryEvent[];
  readonly problems: Problems;
  /** Excused violations, by what excuses them. */
  readonly excused: ReadonlyMap<Excuse, number>;
  /** Faults that were drawn when they were not possible. */
  readonly skipped: readonly string[];
  /** Of a hunt: after how many seconds something was found while faults happened. */
  readonly foundAfter: number | undefined;
  /** What the faults of the network and the clock were made with. */
  readonly means: Readonly<Record<string, string>>;
}

/** What a busy machine may add to a bound of the checker's. */
const SLACK_MS = 30_000;
/** After a fault, when all processes have recovered, until no waiter loses its turn by it. */
const FELT_MS = 4000;
/** In a long run, work goes on for so long without faults, and the order of queues is judged. */
const QUIET_MS = 14_000;
const QUIET_FROM_S = 30;
const SEQUENCES_OF_PROCESSES = 2;
const LOOK_EVERY_MS = 1000;
const SETTLED_MS = 2000;
const PATIENCE_MS = { run: 60_000, hunt: 20_000 } as const;

export async function torture(parameters: Parameters): Promise<Outcome> {
  const { server, seconds, seed, processes, tasks, folder, fault, hunt = false } = parameters;
  const stage = await makeStage(server, processes, folder, parameters.hosts ?? true);
  const cast = new Cast(stage, {
    seed,
    tasks,
    fault,
    patience: PATIENCE_MS[hunt ? 'hunt' : 'run'],
  });
  try {
    const localHandOffs = Math.max(...HAND_OFFS);
    const ttl = Math.max(...TTLS);
    const bounds = { slack: SLACK_MS, felt: FELT_MS };
    note(stage, { e: 'begin', ...OPTIONS, ttl, localHandOffs, seed, ...bounds });
    await cast.start();
    const scene = new Scene(stage, cast, seconds * 1000);
    const faults = processFaults(stage.lanes.some(({ wire }) => wire !== undefined));
    const onServer = [...serverFaults(scene), ...forgettingFaults, ...failovers];
    const sequences = [sequence(scene, onServer, seed)];
    for (let index = 1; index <= SEQUENCES_OF_PROCESSES; index++) {
      sequences.push(sequence(scene, faults, seed + index * 7919));
    }
    const found = hunt ? lookOut(scene, folder) : undefined;
    await Promise.all(sequences);
    const foundAfter = await found;
    await cast.recover();
    note(stage, { e: 'calm' });
    if (!hunt && seconds >= QUIET_FROM_S) await quiet(stage, QUIET_MS);
    await cast.finish();
    await look(stage);
    note(stage, { e: 'end' });
    await cast.close();
    return { ...outcomeOf(parameters, stage, cast, scene), foundAfter };
  } finally {
    await cast.close();
    await stage.close();
  }
}

/**
 * Ends the faults when the checker finds something. It looks at events of a while ago, because the
 * line of a loss of memory is written after the loss.
 */
async function lookOut(scene: Scene, folder: string): Promise<number | undefined> {
  const from = monotonic();
  while (!scene.over) {
    await scene.sleep(LOOK_EVERY_MS);
    const till = monotonic() - SETTLED_MS;
    const known = eventsIn(folder).filter(({ t, e }) => t < till || e === 'amnesia');
    if (judged(known, violationsSoFar(known, ALL)).problems.total === 0) continue;
    scene.stop();
    return (till - from) / 1000;
  }
  return undefined;
}

/** What is left in the store when all are done; those who were killed may hold for one ttl. */
async function look(stage: Stage): Promise<void> {
  const { client, close } = await connect('ioredis-6', stage.main.url);
  const holdfast = new Holdfast(client, OBSERVER);
  const lookAt = async (k: string): Promise<void> => {
    const free = async (): Promise<boolean> => (await holdfast.inspect(k)) === null;
    await until(free, { within: 30_000, every: 50 }).catch(() => undefined);
    const info = await holdfast.inspect(k);
    const holders = (info?.holders ?? []).map(({ id, fence, weight }) => ({ id, fence, weight }));
    const waiters = (info?.waiters ?? []).map(({ id }) => id);
    note(stage, { e: 'seen', k, holders, waiters, last: true });
  };
  await Promise.all(LOCKS.map(lookAt));
  await holdfast.close();
  close();
}

function eventsIn(folder: string): HistoryEvent[] {
  const events: HistoryEvent[] = [];
  for (const file of readdirSync(folder)) {
    if (!file.endsWith('.jsonl')) continue;
    for (const event of readEvents(join(folder, file))) events.push(event);
  }
  return events.sort((a, b) => a.t - b.t);
}

/** What the histories of a folder say. */
export function readOutcome(folder: string): Pick<Outcome, Read> {
  const events = eventsIn(folder);
  return { events, ...judged(events, violations(events, ALL)) };
}

interface Judged {
  readonly problems: Problems;
  readonly excused: ReadonlyMap<Excuse, number>;
}

/** What the checker of histories finds, and errors that are none of the library's. */
function judged(events: readonly HistoryEvent[], found: readonly Violation[]): Judged {
  const problems = new Problems();
  const excused = new Map<Excuse, number>();
  for (const { check, text, excuse } of found) {
    if (excuse === undefined) problems.add(check, text);
    else excused.set(excuse, (excused.get(excuse) ?? 0) + 1);
  }
  for (const event of events) {
    const said = event.e === 'released' ? event.outcome : 'code' in event ? event.code : null;
    if (said?.startsWith('unexpected') === true) problems.add('error', `${event.p}: ${said}`);
  }
  return { problems, excused };
}

type Read = 'events' | 'problems' | 'excused';

function outcomeOf(
  parameters: Parameters,
  stage: Stage,
  cast: Cast,
  scene: Scene,
): Omit<Outcome, 'foundAfter'> {
  const read = readOutcome(parameters.folder);
  const { problems } = read;
  for (const problem of cast.problems) problems.add('process', problem);
  const hosts = stage.lanes.filter(({ wire }) => wire !== undefined).length;
  const proxies = stage.lanes.length - hosts;
  return {
    ...read,
    version: `${stage.main.name} ${stage.main.version}`,
    skipped: scene.skipped,
    means: {
      partitions:
        hosts > 0
          ? `of ${hosts} network namespaces; ${proxies} processes use a proxy`
          : 'by proxies, without network namespaces',
      'wall clock': stage.clock === undefined ? 'left alone: no C compiler' : 'stepped by a shim',
    },
  };
}
