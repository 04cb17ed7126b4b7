/** One round of `dead-waiters`: processes wait, some are killed or stopped, the rest proceed. */
import { readFileSync } from 'node:fs';
import type { Holdfast, Lease } from 'holdfast';
import { measuredPace, paced, type Server, sleep, until } from 'holdfast-testkit';
import type { Contender, EventOf } from '../support/contenders.js';
import { KNOWN_MS, stillness } from '../support/beats.js';
import { monotonic } from '../support/overlaps.js';
import { between } from '../support/random.js';
import { type Participants, type Queue, type Scenario, unaffected } from './scenario.js';

/** Extra time for a process that has to do something. */
const SLACK_MS = 3000;
/** Replies are slow at such a pace. */
const BUSY = 1.5;

export async function round(
  scenario: Scenario,
  participants: Participants,
  queues: readonly Queue[],
): Promise<void> {
  const leases = new Map<string, Lease>();
  for (const { key } of queues) leases.set(key, await scenario.holder.mutex(key).acquire());
  await enqueueAll(scenario, participants, queues);
  await applyFaults(scenario, participants);
  const releases = new Map<string, Release>();
  for (const { key } of queues)
    releases.set(key, await release(scenario, leases.get(key) as Lease));
  const resuming = participants.resumesAnyTime
    ? resume(scenario, participants, 2 * scenario.claimWindow)
    : undefined;
  await Promise.all(
    queues.map(async (queue) => {
      const next = await firstUnaffected(scenario, participants, queue);
      if (next !== undefined)
        judge(scenario, participants, queue, releases.get(queue.key) as Release, next);
    }),
  );
  await (resuming ?? resume(scenario, participants, 0));
  if (scenario.problems.count('too late') > 0) return;
  if (!participants.resumesAnyTime) await checkStopped(scenario, participants, queues);
  await Promise.all(queues.map((queue) => drain(scenario, participants, queue)));
}

/** All processes request the locks in turn, so that the queues have this order. */
async function enqueueAll(
  { holder }: Scenario,
  { order }: Participants,
  queues: readonly Queue[],
): Promise<void> {
  for (const [at, each] of order.entries()) {
    const mine = queues.filter(({ waiters }) => waiters.includes(each));
    await each.want(mine.map(({ key, fair }) => ({ key, lock: { fair } })));
    const queued = order.slice(0, at + 1);
    for (const { key, waiters } of mine) {
      const there = waiters.filter((one) => queued.includes(one));
      await untilQueued(holder, key, there);
    }
  }
}

/** Waits until these processes are in the queue of a key, in this order. */
function untilQueued(
  holder: Holdfast,
  key: string,
  waiters: readonly Contender[],
): Promise<unknown> {
  const expected = waiters.map(({ pid }) => pid).join();
  const look = async (): Promise<boolean> =>
    (await holder.inspect(key))?.waiters.map(({ pid }) => pid).join() === expected;
  return until(look, { within: paced(SLACK_MS), every: 1, what: `${expected} wait for ${key}` });
}

/** Kills and stops processes, and waits until the server and the kernel have noticed. */
async function applyFaults(
  { server }: Scenario,
  { order, killed, stopped }: Participants,
): Promise<void> {
  const listening = async (contenders: number): Promise<boolean> => {
    const list = (await server.command('PUBSUB', 'CHANNELS', 'holdfast:wake:*')) as unknown[];
    const holders = 1;
    return list.length === holders + contenders;
  };
  // a process has its place in a queue a moment before its channel
  await until(() => listening(order.length), { what: 'all processes listen' });
  for (const one of stopped) one.worker.kill('SIGSTOP');
  await Promise.all(killed.map((one) => one.kill()));
  const left = order.length - killed.length;
  await until(() => listening(left), { what: 'the server has dropped the killed processes' });
  const isStopped = ({ pid }: Contender): boolean =>
    /\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  await until(() => stopped.every(isStopped), { what: 'the processes are stopped' });
}

/** A release: its time in ms of this machine's clock, and a lower and upper bound in server µs. */
interface Release {
  readonly at: number;
  readonly before: number;
  readonly after: number;
}

async function release({ server, problems }: Scenario, lease: Lease): Promise<Release> {
  const before = await serverTime(server);
  const at = monotonic();
  const outcome = await lease.release();
  const after = await serverTime(server);
  if (outcome !== 'freed') problems.add('outcome', `${lease.key}: released as ${outcome}`);
  return { at, before, after };
}

async function serverTime(server: Server): Promise<number> {
  const [seconds, micros] = (await server.command('TIME')) as [string, string];
  return Number(seconds) * 1e6 + Number(micros);
}

type Next = EventOf<'held'>;

/** Waits until the first unaffected waiter holds. */
async function firstUnaffected(
  { claimWindow, problems }: Scenario,
  participants: Participants,
  { key, waiters }: Queue,
): Promise<Next | undefined> {
  const first = unaffected(participants, waiters)[0] as Contender;
  const within = participants.stopped.length * claimWindow + paced(SLACK_MS);
  try {
    return await until(
      async () => {
        // a stopped process that resumes in time may get the lock; it must release it
        for (const one of participants.stopped) {
          if (participants.resumesAnyTime && one.event('held', key)) await one.release(key);
        }
        return first.event('held', key);
      },
      { within, every: 2 },
    );
  } catch {
    problems.add('too late', `${key}: the next waiter was not served within ${within} ms`);
    return undefined;
  }
}

/** Uses the fence as the server's time of the grant, so machine load does not affect the result. */
function judge(
  { measured, claimWindow, problems }: Scenario,
  participants: Participants,
  { key, waiters }: Queue,
  { at, before, after }: Release,
  next: Next,
): void {
  const stopped = participants.stopped.filter((one) => waiters.includes(one)).length;
  const dead = participants.killed.some((one) => waiters.includes(one));
  if (stopped === 0) {
    measured[dead ? 'dead' : 'ordinary'].push(next.at - at);
    if (next.fence < before || next.fence > after) {
      const ms = (next.fence - after) / 1000;
      problems.add('not at once', `${key}: granted ${ms} ms after the end of the release`);
    }
    return;
  }
  if (participants.resumesAnyTime) return;
  const beyond = (next.fence - after) / 1000 - stopped * claimWindow;
  measured.stopped.push(beyond);
  if (beyond > claimWindow && beyond > slowest() * claimWindow)
    problems.add('too late', `${key}: ${beyond} ms after the claim windows`);
  if ((next.fence - before) / 1000 < stopped * claimWindow) {
    problems.add('too early', `${key}: ${-beyond} ms before the end of the claim window`);
  }
}

/** In claim windows: polls come so late if replies are slow (decision 4). */
function slowest(): number {
  return measuredPace() > BUSY ? 4 : 1;
}

/** Resumes the stopped processes. */
async function resume(
  { random }: Scenario,
  { stopped }: Participants,
  within: number,
): Promise<void> {
  await sleep(between(random, 0, within));
  for (const one of stopped) one.worker.kill('SIGCONT');
}

/**
 * While another process holds, the resumed processes read grants that expired while they were
 * stopped. They must reject these grants and get their places in the queue back.
 */
async function checkStopped(
  { holder, problems }: Scenario,
  participants: Participants,
  queues: readonly Queue[],
): Promise<void> {
  if (participants.stopped.length === 0) return;
  for (const { key, waiters } of queues) {
    if (!waiters.includes(participants.stopped[0] as Contender)) continue;
    const rest = [...participants.stopped, ...unaffected(participants, waiters).slice(1)];
    try {
      await untilQueued(holder, key, rest);
    } catch (error) {
      problems.add('no place', `${key}: ${(error as Error).message}`);
    }
    for (const one of participants.stopped) {
      const event = one.event('held', key);
      if (event?.held)
        problems.add(
          'stale lease held',
          `${key}: a lease that had ended while the process was stopped`,
        );
    }
  }
}

/** Waits until every waiter has held and released the lock; checks the order and the free lock. */
async function drain(
  scenario: Scenario,
  participants: Participants,
  { key, waiters }: Queue,
): Promise<void> {
  const { holder, problems } = scenario;
  const alive = waiters.filter((one) => !participants.killed.includes(one));
  const served = new Set<Contender>();
  const done = async (): Promise<boolean> => {
    for (const one of alive) {
      if (served.has(one) || !one.event('held', key)) continue;
      served.add(one);
      await one.release(key);
    }
    return alive.every((one) => one.event('over', key) ?? one.event('failed', key));
  };
  try {
    await until(done, {
      within: alive.length * paced(SLACK_MS),
      every: 1,
      what: `all waiters held ${key}`,
    });
    await until(async () => (await holder.inspect(key)) === null, { what: `${key} is free` });
  } catch (error) {
    problems.add('stuck', (error as Error).message);
  }
  // no claim arrives from a process without CPU time: its lease ends, and others come first
  const running = alive.filter((one) => !participants.stopped.includes(one));
  if (running.some((one) => wasStill(scenario, one, key))) return;
  for (const one of alive) review(scenario, participants, one, key);
  const order = [...alive].sort((a, b) => heldAt(a, key) - heldAt(b, key));
  const expected = expectedOrder(participants, waiters);
  if (!participants.resumesAnyTime && pids(order) !== pids(expected)) {
    problems.add('order', `${key}: ${pids(order)} instead of ${pids(expected)}`);
  }
  const others = unaffected(participants, waiters);
  if (pids(order.filter((one) => others.includes(one))) !== pids(others)) {
    problems.add('order', `${key}: the unaffected waiters held in the order ${pids(order)}`);
  }
}

/** A process lost its lease after a pause of half of a claim window. */
function wasStill({ claimWindow }: Scenario, one: Contender, key: string): boolean {
  const aborted = one.event('aborted', key);
  if (aborted === undefined) return false;
  const { at, beats } = aborted;
  return stillness(beats, at - KNOWN_MS, at) >= claimWindow / 2;
}

/** Checks the events of one process and records its interval. */
function review(
  { problems, intervals }: Scenario,
  participants: Participants,
  one: Contender,
  key: string,
): void {
  const failed = one.event('failed', key);
  if (failed !== undefined) problems.add('error', `${key}: ${failed.code}`);
  const [held, aborted, over] = [
    one.event('held', key),
    one.event('aborted', key),
    one.event('over', key),
  ];
  if (held === undefined || over === undefined) return;
  // a process that resumes at a random time may accept a grant just before its end, and lose it
  if (!participants.resumesAnyTime || !participants.stopped.includes(one)) {
    if (aborted !== undefined) problems.add('lost', `${key}: ${one.pid}: ${aborted.why}`);
    if (over.outcome !== 'freed') problems.add('outcome', `${key}: released as ${over.outcome}`);
  }
  // a lease that had already ended on arrival does not count as held
  if (!held.held) return;
  const { from, at, fence } = over;
  const to = aborted === undefined ? at : Math.min(aborted.at, aborted.promised);
  intervals.push({ key, who: `process ${one.pid}`, from, to, fence });
}

/** The resumed processes have their old places, but the first unaffected waiter already holds. */
function expectedOrder(participants: Participants, waiters: readonly Contender[]): Contender[] {
  const [first, ...rest] = unaffected(participants, waiters);
  const stopped = participants.stopped.filter((one) => waiters.includes(one));
  return [...(first === undefined ? [] : [first]), ...stopped, ...rest];
}

function heldAt(process: Contender, key: string): number {
  return process.event('held', key)?.at ?? Number.POSITIVE_INFINITY;
}

function pids(list: readonly Contender[]): string {
  return list.map(({ pid }) => pid).join(', ');
}
