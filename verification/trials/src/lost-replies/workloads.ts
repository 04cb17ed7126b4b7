/** The workloads: the reply to an acquire, a renewal, a release or a hand-off is lost. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lease } from 'holdfast';
import { type AfterDrop, paced, type Rule, until } from 'holdfast-testkit';
import { isCall, type Spoken } from '../support/commands.js';
import { monotonic } from '../support/overlaps.js';
import { type Attempt, expected, notSetUp, setUp } from './attempt.js';

/** Commands with a lost reply; `hand-off` ends a root that a local waiter used or waits for. */
export const OPS = ['acquire', 'renew', 'release', 'hand-off'] as const;
export type Lost = (typeof OPS)[number];

/** One attempt; `index` selects its variant. */
export type Workload = (attempt: Attempt, after: AfterDrop, index: number) => Promise<void>;

export const WORKLOADS: Readonly<Record<Lost, Workload>> = {
  acquire,
  renew,
  release,
  'hand-off': handOff,
};

const SHORT_TTL = 450;
const HOLD_MS = 5;
const FAIR = { fair: true } as const;

function loseReply(attempt: Attempt, op: Spoken, after: AfterDrop): Rule {
  return attempt.scenario.proxy.dropReply((words) => isCall(words, op, attempt.key), { after });
}

/** Throws if the fault did not occur. All other checks come before it. */
function assertLost(rule: Rule): void {
  if (rule.hits === 0) notSetUp('no reply was lost');
}

function forMs(ms: number): () => boolean {
  const end = monotonic() + ms;
  return () => monotonic() >= end;
}

/** The subject may or may not acquire the lock; afterwards the rival must get it. */
async function acquire(attempt: Attempt, after: AfterDrop, index: number): Promise<void> {
  const { figures } = attempt.scenario;
  const mutex = attempt.lock(FAIR);
  // the lost reply is either a grant or a place in the queue
  const contended = index % 3 === 2;
  const first = contended ? await attempt.rivalLock(FAIR).acquire() : undefined;
  const rule = loseReply(attempt, 'acquire', after);
  const request = index % 3 === 0 ? mutex.tryAcquire() : mutex.acquire({ wait: paced(600) });
  const answer = request.catch(expected);
  await rule.applied();
  const wanted = requestForRival(attempt);
  if (first !== undefined) {
    await attempt.hold('first', first, forMs(HOLD_MS));
    await first.release();
  }
  const lease = (await answer) ?? undefined;
  let since = monotonic();
  if (lease !== undefined) {
    figures.count(`${attempt.name}: granted nevertheless`);
    await attempt.hold('subject', lease, forMs(HOLD_MS));
    since = monotonic();
    await lease.release().catch(expected);
  }
  await rivalTakes(attempt, wanted, since);
}

/** The subject keeps the lease by another renewal, or detects its end before the server ends it. */
async function renew(attempt: Attempt, after: AfterDrop, index: number): Promise<void> {
  const { figures } = attempt.scenario;
  const ttl = paced(SHORT_TTL);
  const lease = await attempt.lock(FAIR).acquire({ ttl }).catch(setUp);
  const wanted = requestForRival(attempt);
  const rule = loseReply(attempt, 'renew', after);
  await attempt.hold('subject', lease, forMs(1.5 * ttl));
  const since = monotonic();
  figures.count(`${attempt.name}: ${lease.held ? 'kept' : 'lost in time'}`);
  // after a loss, a program may omit the release; a lease in doubt is not lost
  if (lease.state !== 'lost' || index % 2 === 0) await lease.release().catch(expected);
  await rivalTakes(attempt, wanted, since);
  assertLost(rule);
}

/** Requests the lock for the rival; a rejection is handled when the result is awaited. */
function requestForRival(attempt: Attempt): Promise<Lease> {
  const wanted = attempt.rivalLock(FAIR).acquire();
  wanted.catch(() => undefined);
  return wanted;
}

/** The rival gets the lock at once, and keeps it while the subject retries its release. */
async function release(attempt: Attempt, after: AfterDrop): Promise<void> {
  const { figures } = attempt.scenario;
  const lease = await attempt.lock(FAIR).acquire().catch(setUp);
  const wanted = requestForRival(attempt);
  const rule = loseReply(attempt, 'release', after);
  await attempt.hold('subject', lease, forMs(HOLD_MS));
  const since = monotonic();
  let settled = false;
  const released = releaseHeld(attempt, lease, after).then((outcome) => {
    settled = true;
    figures.count(`${attempt.name}: outcome ${outcome ?? 'uncertain'}`);
  });
  const taken = await attempt.rivalGets(wanted, since);
  if (taken === undefined) return;
  await attempt.hold('rival', taken, () => settled);
  await released;
  await attempt.rivalReleases(taken);
  assertLost(rule);
}

/**
 * A root ends with a local waiter, whose next root is queued, or after a hand-off inside the
 * process. The reply to the `turn` that ends it is lost.
 */
async function handOff(attempt: Attempt, after: AfterDrop, index: number): Promise<void> {
  const mutex = attempt.lock();
  const lease = await mutex.acquire().catch(setUp);
  const nextLocal = mutex.acquire();
  nextLocal.catch(() => undefined);
  // places in the queue are told apart by whole milliseconds
  await sleep(HOLD_MS);
  const wanted = requestForRival(attempt);
  const queued = async (): Promise<boolean> =>
    (await attempt.scenario.rival.inspect(attempt.key))?.waiterCount === 1;
  await until(queued).catch((error: unknown) => notSetUp(error));
  const rule = loseReply(attempt, 'turn', after);
  if (index % 2 === 0) await turnAfterHandOff(attempt, after, { lease, nextLocal, wanted });
  else await turnWithNext(attempt, after, { lease, nextLocal, wanted });
  assertLost(rule);
}

interface HandOff {
  readonly lease: Lease;
  readonly nextLocal: Promise<Lease>;
  readonly wanted: Promise<Lease>;
}

/** The local waiter gets the lease without a command, and its release ends the root. */
async function turnAfterHandOff(
  attempt: Attempt,
  after: AfterDrop,
  { lease, nextLocal, wanted }: HandOff,
): Promise<void> {
  await attempt.hold('subject', lease, forMs(HOLD_MS));
  await releaseHeld(attempt, lease, after);
  const successor = await nextLocal.catch(setUp);
  await attempt.hold('successor', successor, forMs(HOLD_MS));
  const since = monotonic();
  const released = releaseHeld(attempt, successor, after);
  await rivalTakes(attempt, wanted, since);
  attempt.scenario.figures.count(`${attempt.name}: outcome ${(await released) ?? 'uncertain'}`);
}

/**
 * The root is too old to be handed on. The local waiter arrived before the rival, so the lost reply
 * is the grant of its root. It gets the lease, or gives up; then the rival gets it.
 */
async function turnWithNext(
  attempt: Attempt,
  after: AfterDrop,
  { lease, nextLocal, wanted }: HandOff,
): Promise<void> {
  await attempt.hold('subject', lease, forMs(1.5 * attempt.claimWindow));
  const since = monotonic();
  const released = releaseHeld(attempt, lease, after);
  const successor = holdAndRelease(attempt, nextLocal);
  successor.catch(() => undefined);
  await rivalTakes(attempt, wanted, since);
  await successor;
  attempt.scenario.figures.count(`${attempt.name}: outcome ${(await released) ?? 'uncertain'}`);
  await attempt.isFree();
}

/** The local waiter may or may not get the lease. */
async function holdAndRelease(attempt: Attempt, wanted: Promise<Lease>): Promise<void> {
  const lease = await wanted.catch(expected);
  if (lease === undefined) return;
  attempt.scenario.figures.count(`${attempt.name}: granted nevertheless`);
  await attempt.hold('successor', lease, forMs(HOLD_MS));
  await lease.release().catch(expected);
}

/**
 * The release of a held lease must not return `lost`. If the connection delivers later replies,
 * replies are matched to the wrong commands; then the returned outcome is ignored.
 */
async function releaseHeld(
  attempt: Attempt,
  lease: Lease,
  after: AfterDrop,
): Promise<string | undefined> {
  const { held } = lease;
  const outcome = await lease.release().catch(expected);
  const matched = after !== 'continue';
  if (held && matched && outcome === 'lost') {
    attempt.problem('outcome', 'the release of a held lease returned lost');
  }
  return outcome;
}

async function rivalTakes(attempt: Attempt, wanted: Promise<Lease>, since: number): Promise<void> {
  const taken = await attempt.rivalGets(wanted, since);
  if (taken === undefined) return;
  await attempt.hold('rival', taken, forMs(HOLD_MS));
  await attempt.rivalReleases(taken);
}
