/**
 * The server acts on a command, and its reply never comes: to an acquire, to a renewal, to a
 * release. Then the connection is cut, or falls silent, or goes on with the replies that follow.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast } from 'holdfast';
import { type AfterDrop, percentile, startProxy, startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { FAULTS, type Fault } from './lost-replies/faults.js';
import { type Lost, OPS, PLAYS } from './lost-replies/plays.js';
import { Figures, NotSetUp, Scene, type Stage } from './lost-replies/scene.js';
import { connect } from './support/clients.js';
import { describe, overlaps, regressions } from './support/overlaps.js';
import { Problems } from './support/problems.js';
import { Resource } from './support/resource.js';
import { type Parameters, type Trial, type Verdict, verdict } from './trial.js';

const AFTER: readonly AfterDrop[] = ['cut', 'silence', 'continue'];
/** Trials at the same time. */
const CONCURRENCY = 24;
/** A machine that has too much to do is given some time. */
const TRIES_MAX = 20;
/** Longer than all that one trial may wait for by its own rules; a planted fault breaks them. */
const PLAY_MS = 40_000;
const PLAY_WITH_FAULT_MS = 15_000;

interface Case {
  readonly op: Lost;
  readonly after: AfterDrop;
  readonly index: number;
}

async function run(parameters: Parameters): Promise<Verdict> {
  await using server = await startServer({ server: parameters.server });
  await using proxy = await startProxy(server);
  const direct = await connect(parameters.client, server.url);
  const rival = new Holdfast(direct.client, { ttl: 10_000, claimWindow: 5000 });
  const resource = new Resource(`${server.url}/1`);
  const bare = new Redis(server.url);
  const stage: Stage = {
    client: parameters.client,
    fault: parameters.fault as Fault | undefined,
    primitive: parameters.primitive,
    ...{ proxy, rival, resource, bare },
    ...{ problems: new Problems(), intervals: [], figures: new Figures() },
  };
  try {
    await knowScripts(rival);
    // only a mutex is passed on inside a process
    const all = casesOf(parameters.trials);
    const mutex = parameters.primitive === 'mutex';
    await playAll(stage, mutex ? all : all.filter(({ op }) => op !== 'pass'));
    for (const problem of proxy.problems) stage.problems.add('proxy', String(problem));
    return judge(stage);
  } finally {
    await rival.close({ grace: 0 });
    direct.close();
    resource.close();
    bare.disconnect();
  }
}

/** So that no command has to be sent twice because the server does not know its script. */
async function knowScripts(holdfast: Holdfast): Promise<void> {
  const lease = await holdfast.mutex('scripts').acquire();
  await lease.extend(20_000);
  await lease.release();
}

function casesOf(trials: number): Case[] {
  return Array.from({ length: trials }, (_, index) =>
    OPS.flatMap((op) => AFTER.map((after) => ({ op, after, index }))),
  ).flat();
}

async function playAll(stage: Stage, cases: readonly Case[]): Promise<void> {
  const left = cases.entries();
  // a planted fault breaks the setting up too; what it does is seen in what is left
  const most = stage.fault === undefined ? TRIES_MAX : 1;
  const player = async (): Promise<void> => {
    for (const [count, each] of left) {
      for (let tries = 1; !(await play(stage, each, `${count}-${tries}`)); tries++) {
        stage.figures.count('not set up, played again');
        if (tries < most) continue;
        if (stage.fault === undefined) stage.problems.add('setup', `${count}: ${tries} times`);
        break;
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, player));
}

/** False if the fault did not come about. */
async function play(stage: Stage, { op, after, index }: Case, suffix: string): Promise<boolean> {
  const scene = await Scene.open(stage, `${op}, ${after}`, `${op}-${after}-${suffix}`);
  try {
    const limit = stage.fault === undefined ? PLAY_MS : PLAY_WITH_FAULT_MS;
    const over = await within(limit, PLAYS[op](scene, after, index));
    if (!over) scene.problem('stuck', `not over after ${limit} ms`);
  } catch (error) {
    if (error instanceof NotSetUp) return false;
    scene.problem('error', String(error));
  } finally {
    await scene.close();
  }
  return true;
}

/** False if the promise is not settled in time; what becomes of it then is nobody's concern. */
async function within(ms: number, promise: Promise<void>): Promise<boolean> {
  const settled = new AbortController();
  const late = sleep(ms, false, { signal: settled.signal }).catch(() => true);
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    settled.abort();
  }
}

function judge({ problems, intervals, figures }: Stage): Verdict {
  for (const pair of overlaps(intervals)) problems.add('overlap', describe(pair));
  for (const pair of regressions(intervals)) problems.add('fence', describe(pair));
  const shown: Record<string, number> = {};
  for (const op of OPS) {
    for (const after of AFTER) {
      const name = `${op}, ${after}`;
      const times = figures.times.get(name) ?? [];
      shown[`${name}: free again`] = times.length;
      for (const p of [50, 99, 100]) shown[`${name}: p${p}, ms`] = percentile(times, p);
      for (const [counted, count] of figures.counts) {
        if (counted.startsWith(`${name}:`)) shown[counted] = count;
      }
    }
  }
  const again = 'not set up, played again';
  shown[again] = figures.counts.get(again) ?? 0;
  for (const kind of ['overlap', 'fence', 'orphan', 'newer lease', 'outcome', 'stuck']) {
    shown[`problems: ${kind}`] = problems.count(kind);
  }
  return verdict(shown, problems.list());
}

export const trial: Trial = {
  name: 'lost-replies',
  claim: 'a lost reply makes no second holder, leaves no orphan, and harms no newer lease',
  full: { trials: 1000 },
  share: { trials: 8 },
  faults: FAULTS,
  run,
};
