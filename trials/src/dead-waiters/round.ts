/** One round of `dead-waiters`: who waits, who is killed or stopped, and what the others see. */
import { readFileSync } from 'node:fs';
import type { Holdfast, Lease } from 'holdfast';
import { type Server, sleep, until } from 'holdfast-testkit';
import type { Contender, Said } from '../support/contenders.js';
import { type Interval, monotonic } from '../support/overlaps.js';
import type { Problems } from '../support/problems.js';
import { between, type Random } from '../support/random.js';

/** Who plays what: all of them, in the order of the queue, the unlucky ones first. */
export interface Cast {
  readonly order: readonly Contender[];
  readonly killed: readonly Contender[];
  readonly frozen: readonly Contender[];
  /** True if the frozen go on at some moment, otherwise when the next one holds. */
  readonly thawsAnyTime: boolean;
}

export interface Queue {
  readonly key: string;
  readonly fair: boolean;
  readonly waiters: readonly Contender[];
}

/** In ms. */
export interface Measured {
  /** From release to the next, with nothing in between. */
  readonly ordinary: number[];
  /** The same, with dead heads of the queue in between. */
  readonly dead: number[];
  /** From release to the next by the server's clock, less a claim window for each of the frozen. */
  readonly frozen: number[];
}

export interface Stage {
  readonly holder: Holdfast;
  readonly server: Server;
  readonly claimWindow: number;
  readonly random: Random;
  readonly problems: Problems;
  readonly intervals: Interval[];
  readonly measured: Measured;
}

/** Time for everything that is not waited for by its state. */
const SLACK_MS = 3000;

export async function round(stage: Stage, cast: Cast, queues: readonly Queue[]): Promise<void> {
  const leases = new Map<string, Lease>();
  for (const { key } of queues) leases.set(key, await stage.holder.mutex(key).acquire());
  await lineUp(stage, cast, queues);
  await harm(stage, cast);
  const releases = new Map<string, Release>();
  for (const { key } of queues) releases.set(key, await release(stage, leases.get(key) as Lease));
  const thawing = cast.thawsAnyTime ? thaw(stage, cast, 2 * stage.claimWindow) : undefined;
  await Promise.all(
    queues.map(async (queue) => {
      const next = await firstUnharmed(stage, cast, queue);
      if (next !== undefined) judge(stage, cast, queue, releases.get(queue.key) as Release, next);
    }),
  );
  await (thawing ?? thaw(stage, cast, 0));
  if (stage.problems.count('too late') > 0) return;
  if (!cast.thawsAnyTime) await sawTheTruth(stage, cast, queues);
  await Promise.all(queues.map((queue) => drain(stage, cast, queue)));
}

/** All ask, one after the other, until the store has them in this order. */
async function lineUp({ holder }: Stage, { order }: Cast, queues: readonly Queue[]): Promise<void> {
  for (const [at, each] of order.entries()) {
    const mine = queues.filter(({ waiters }) => waiters.includes(each));
    await each.want(mine.map(({ key, fair }) => ({ key, lock: { fair } })));
    const come = order.slice(0, at + 1);
    for (const { key, waiters } of mine) {
      const there = waiters.filter((one) => come.includes(one));
      await pidsAre(holder, key, there);
    }
  }
}

/** Waits until these wait for a key, in this order. */
function pidsAre(holder: Holdfast, key: string, those: readonly Contender[]): Promise<unknown> {
  const expected = those.map(({ pid }) => pid).join();
  const look = async (): Promise<boolean> =>
    (await holder.inspect(key))?.waiters.map(({ pid }) => pid).join() === expected;
  return until(look, { within: SLACK_MS, every: 1, what: `${expected} wait for ${key}` });
}

/** Kills and stops, and waits until that is so for the server and for the kernel. */
async function harm({ server }: Stage, { order, killed, frozen }: Cast): Promise<void> {
  for (const one of frozen) one.worker.kill('SIGSTOP');
  await Promise.all(killed.map((one) => one.kill()));
  const channels = async (): Promise<boolean> => {
    const list = (await server.command('PUBSUB', 'CHANNELS', 'holdfast:wake:*')) as unknown[];
    return list.length === order.length - killed.length;
  };
  await until(channels, { what: 'the server knows who is gone' });
  const stopped = ({ pid }: Contender): boolean =>
    /\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  await until(() => frozen.every(stopped), { what: 'the frozen stand still' });
}

/** A release: when on our clock, and between which two times of the server's, in µs. */
interface Release {
  readonly at: number;
  readonly before: number;
  readonly after: number;
}

async function release({ server, problems }: Stage, lease: Lease): Promise<Release> {
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

type Next = Said<'held'>;

/** The first of those whom nothing was done to: when it holds. */
async function firstUnharmed(
  { claimWindow, problems }: Stage,
  cast: Cast,
  { key, waiters }: Queue,
): Promise<Next | undefined> {
  const first = unharmed(cast, waiters)[0] as Contender;
  const within = cast.frozen.length * claimWindow + SLACK_MS;
  try {
    return await until(
      async () => {
        // a frozen process that went on in time may hold, and does not keep it
        for (const one of cast.frozen) {
          if (cast.thawsAnyTime && one.said('held', key)) await one.release(key);
        }
        return first.said('held', key);
      },
      { within, every: 2 },
    );
  } catch {
    problems.add('too late', `${key}: the next one was not served within ${within} ms`);
    return undefined;
  }
}

function unharmed({ killed, frozen }: Cast, waiters: readonly Contender[]): Contender[] {
  return waiters.filter((one) => !killed.includes(one) && !frozen.includes(one));
}

/** A fence is the server's time of the grant, so the machine's moods are no part of this. */
function judge(
  { measured, claimWindow, problems }: Stage,
  cast: Cast,
  { key, waiters }: Queue,
  { at, before, after }: Release,
  next: Next,
): void {
  const frozen = cast.frozen.filter((one) => waiters.includes(one)).length;
  const dead = cast.killed.some((one) => waiters.includes(one));
  if (frozen === 0) {
    measured[dead ? 'dead' : 'ordinary'].push(next.at - at);
    if (next.fence < before || next.fence > after) {
      const ms = (next.fence - after) / 1000;
      problems.add('not at once', `${key}: granted ${ms} ms after the release was over`);
    }
    return;
  }
  if (cast.thawsAnyTime) return;
  const beyond = (next.fence - after) / 1000 - frozen * claimWindow;
  measured.frozen.push(beyond);
  if (beyond > claimWindow) problems.add('too late', `${key}: ${beyond} ms beyond the window`);
  if ((next.fence - before) / 1000 < frozen * claimWindow) {
    problems.add('too early', `${key}: ${-beyond} ms before the end of the claim window`);
  }
}

/** The frozen go on. */
async function thaw({ random }: Stage, { frozen }: Cast, within: number): Promise<void> {
  await sleep(between(random, 0, within));
  for (const one of frozen) one.worker.kill('SIGCONT');
}

/**
 * While another holds, the frozen read what they were granted in their sleep: they must see that it
 * is over, and have their places again.
 */
async function sawTheTruth(
  { holder, problems }: Stage,
  cast: Cast,
  queues: readonly Queue[],
): Promise<void> {
  if (cast.frozen.length === 0) return;
  for (const { key, waiters } of queues) {
    if (!waiters.includes(cast.frozen[0] as Contender)) continue;
    const rest = [...cast.frozen, ...unharmed(cast, waiters).slice(1)];
    try {
      await pidsAre(holder, key, rest);
    } catch (error) {
      problems.add('no place', `${key}: ${(error as Error).message}`);
    }
    for (const one of cast.frozen) {
      const said = one.said('held', key);
      if (said?.held) problems.add('believed', `${key}: a lease that had ended in its sleep`);
    }
  }
}

/** Everybody has had the lock, and let it go: in the right order, and nothing is left. */
async function drain(stage: Stage, cast: Cast, { key, waiters }: Queue): Promise<void> {
  const { holder, problems } = stage;
  const alive = waiters.filter((one) => !cast.killed.includes(one));
  const told = new Set<Contender>();
  const done = async (): Promise<boolean> => {
    for (const one of alive) {
      if (told.has(one) || !one.said('held', key)) continue;
      told.add(one);
      await one.release(key);
    }
    return alive.every((one) => one.said('over', key) ?? one.said('failed', key));
  };
  try {
    await until(done, { within: alive.length * SLACK_MS, every: 1, what: `all had ${key}` });
    await until(async () => (await holder.inspect(key)) === null, { what: `${key} is free` });
  } catch (error) {
    problems.add('stuck', (error as Error).message);
  }
  for (const one of alive) review(stage, cast, one, key);
  const order = [...alive].sort((a, b) => began(a, key) - began(b, key));
  const expected = expectedOrder(cast, waiters);
  if (!cast.thawsAnyTime && pids(order) !== pids(expected)) {
    problems.add('order', `${key}: ${pids(order)} instead of ${pids(expected)}`);
  }
  const others = unharmed(cast, waiters);
  if (pids(order.filter((one) => others.includes(one))) !== pids(others)) {
    problems.add('order', `${key}: those whom nothing was done to came as ${pids(order)}`);
  }
}

/** How it went for one of them. */
function review({ problems, intervals }: Stage, cast: Cast, one: Contender, key: string): void {
  const failed = one.said('failed', key);
  if (failed !== undefined) problems.add('error', `${key}: ${failed.code}`);
  const [held, aborted, over] = [
    one.said('held', key),
    one.said('aborted', key),
    one.said('over', key),
  ];
  if (held === undefined || over === undefined) return;
  // who goes on at any moment may find a grant whose last moment it is, and lose it
  if (!cast.thawsAnyTime || !cast.frozen.includes(one)) {
    if (aborted !== undefined) problems.add('lost', `${key}: ${one.pid} lost its lease`);
    if (over.outcome !== 'freed') problems.add('outcome', `${key}: released as ${over.outcome}`);
  }
  // a lease that came too late to be believed is none
  if (!held.held) return;
  const { from, at, fence } = over;
  const to = aborted === undefined ? at : Math.min(aborted.at, aborted.promised);
  intervals.push({ key, who: `process ${one.pid}`, from, to, fence });
}

/** The frozen have their old places, but the next one holds already. */
function expectedOrder(cast: Cast, waiters: readonly Contender[]): Contender[] {
  const [first, ...rest] = unharmed(cast, waiters);
  const frozen = cast.frozen.filter((one) => waiters.includes(one));
  return [...(first === undefined ? [] : [first]), ...frozen, ...rest];
}

function began(who: Contender, key: string): number {
  return who.said('held', key)?.at ?? Number.POSITIVE_INFINITY;
}

function pids(those: readonly Contender[]): string {
  return those.map(({ pid }) => pid).join(', ');
}
