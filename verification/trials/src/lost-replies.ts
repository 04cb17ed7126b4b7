/**
 * The server executes a command, and its reply is lost: of an acquire, a renewal, a release or a
 * hand-off. Then the connection is closed, or drops all further replies, or delivers later replies.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast } from 'holdfast';
import { type AfterDrop, paced, percentile, startProxy, startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { FAULTS, type Fault } from './lost-replies/faults.js';
import { type Lost, OPS, WORKLOADS } from './lost-replies/workloads.js';
import { Figures, NotSetUp, Attempt, type Scenario } from './lost-replies/attempt.js';
import { connect } from './support/clients.js';
import { describe, overlaps, regressions } from './support/overlaps.js';
import { Problems } from './support/problems.js';
import { Resource } from './support/resource.js';
import { type Parameters, type Trial, type Verdict, verdict } from './trial.js';

const AFTER: readonly AfterDrop[] = ['cut', 'silence', 'continue'];
/** Concurrent attempts. */
const CONCURRENCY = 24;
/** Attempts for one case, because a busy machine may miss the set-up. */
const TRIES_MAX = 20;
/** Above the sum of the waits in one attempt; a planted fault may exceed it. */
const ATTEMPT_MS = 40_000;
const ATTEMPT_WITH_FAULT_MS = 15_000;

interface Case {
  readonly op: Lost;
  readonly after: AfterDrop;
  readonly index: number;
}

async function run(parameters: Parameters): Promise<Verdict> {
  await using server = await startServer({ server: parameters.server });
  await using proxy = await startProxy(server);
  const direct = await connect(parameters.client, server.url);
  const rival = new Holdfast(direct.client, { ttl: paced(10_000), claimWindow: 5000 });
  const resource = new Resource(`${server.url}/1`);
  const bare = new Redis(server.url);
  const scenario: Scenario = {
    client: parameters.client,
    fault: parameters.fault as Fault | undefined,
    primitive: parameters.primitive,
    ...{ proxy, rival, resource, bare },
    ...{ problems: new Problems(), intervals: [], figures: new Figures() },
  };
  try {
    await loadScripts(rival);
    // only a mutex has local hand-offs
    const all = casesOf(parameters.trials);
    const mutex = parameters.primitive === 'mutex';
    await runAll(scenario, mutex ? all : all.filter(({ op }) => op !== 'hand-off'));
    for (const problem of proxy.problems) scenario.problems.add('proxy', String(problem));
    return judge(scenario);
  } finally {
    await rival.close({ grace: 0 });
    direct.close();
    resource.close();
    bare.disconnect();
  }
}

/** Loads the scripts first, so that no command is sent twice because of a missing script. */
async function loadScripts(holdfast: Holdfast): Promise<void> {
  const lease = await holdfast.mutex('scripts').acquire();
  await lease.extend(20_000);
  // the end of a root
  const next = holdfast.mutex('scripts').acquire();
  await lease.release();
  await (await next).release();
}

function casesOf(trials: number): Case[] {
  return Array.from({ length: trials }, (_, index) =>
    OPS.flatMap((op) => AFTER.map((after) => ({ op, after, index }))),
  ).flat();
}

async function runAll(scenario: Scenario, cases: readonly Case[]): Promise<void> {
  const pending = cases.entries();
  // a planted fault may also break the set-up; the remaining cases show its effect
  const most = scenario.fault === undefined ? TRIES_MAX : 1;
  const runner = async (): Promise<void> => {
    for (const [count, each] of pending) {
      for (let tries = 1; !(await runCase(scenario, each, `${count}-${tries}`)); tries++) {
        scenario.figures.count('not set up, repeated');
        if (tries < most) continue;
        if (scenario.fault === undefined)
          scenario.problems.add('setup', `${count}: ${tries} times`);
        break;
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, runner));
}

/** False if the fault did not occur. */
async function runCase(
  scenario: Scenario,
  { op, after, index }: Case,
  suffix: string,
): Promise<boolean> {
  const attempt = await Attempt.open(scenario, `${op}, ${after}`, `${op}-${after}-${suffix}`);
  try {
    const limit = paced(scenario.fault === undefined ? ATTEMPT_MS : ATTEMPT_WITH_FAULT_MS);
    const ended = await within(limit, WORKLOADS[op](attempt, after, index));
    if (!ended) attempt.problem('stuck', `not ended after ${limit} ms`);
  } catch (error) {
    if (error instanceof NotSetUp) return false;
    attempt.problem('error', String(error));
  } finally {
    await attempt.close();
  }
  return true;
}

/** False if the promise is not settled in time; its later result is ignored. */
async function within(ms: number, promise: Promise<void>): Promise<boolean> {
  const settled = new AbortController();
  const late = sleep(ms, false, { signal: settled.signal }).catch(() => true);
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    settled.abort();
  }
}

function judge({ problems, intervals, figures }: Scenario): Verdict {
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
  const again = 'not set up, repeated';
  shown[again] = figures.counts.get(again) ?? 0;
  for (const kind of ['overlap', 'fence', 'orphan', 'newer lease', 'outcome', 'stuck']) {
    shown[`problems: ${kind}`] = problems.count(kind);
  }
  return verdict(shown, problems.list());
}

export const trial: Trial = {
  name: 'lost-replies',
  claim: 'a lost reply creates no second holder and no orphan, and ends no newer lease',
  full: { trials: 1000 },
  share: { trials: 8 },
  faults: FAULTS,
  run,
};
