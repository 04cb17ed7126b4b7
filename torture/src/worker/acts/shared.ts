/** What several hold at once: readers, permits; and what is held several at a time. */
import { between, pick, type Random } from 'holdfast-trials/support/random';
import { isHoldfastError, type MultiLease, type RwLease } from 'holdfast';
import { setTimeout as sleep } from 'node:timers/promises';
import { ALL_OF, PERMITS, RW, SEMAPHORE, WRITER } from '../../settings.js';
import { Held, type LeaseLike, seen } from '../held.js';
import { codeOf, type Play } from '../play.js';

/** Readers and writers, some of which change sides. */
export async function rwLock(play: Play, random: Random): Promise<void> {
  const writes = random() < 0.35;
  const terms = play.terms(random);
  const lock = play.holdfast.rwLock(RW, terms);
  const limits = play.limits(random);
  const { wait } = limits;
  const weight = writes ? WRITER : 1;
  const more = wait === undefined ? {} : { wait };
  const held = new Held(play, { k: RW, fair: terms.fair, weight, capacity: WRITER, ...more });
  let lease: RwLease | undefined;
  const acquiring = (writes ? lock.write : lock.read)
    .acquire({ ...limits, label: held.a })
    .then((granted) => {
      lease = granted;
      return seen(granted);
    });
  if (await held.granted(acquiring)) {
    await held.section(random);
    if (lease !== undefined && random() < 0.4) await changeSides(held, lease, random);
  }
  if (held.lease !== undefined) await held.release();
}

async function changeSides(held: Held, lease: RwLease, random: Random): Promise<void> {
  try {
    if (lease.mode === 'read') {
      if (!(await lease.tryUpgrade())) return;
      held.turned(WRITER);
    } else {
      held.turned(1);
      await lease.downgrade();
    }
    await held.section(random);
    if (lease.mode === 'write' && random() < 0.5) await changeSides(held, lease, random);
  } catch {
    // lost, or without an answer: what it still believes in, it says itself
  }
}

/** Permits, of which there are now more, now fewer. */
export async function semaphore(play: Play, random: Random): Promise<void> {
  if (random() < 0.05) await resize(play, random, play.permits);
  const capacity = play.permits;
  const terms = play.terms(random);
  const one = play.holdfast.semaphore(SEMAPHORE, { ...terms, permits: capacity });
  const weight = 1 + Math.floor(between(random, 0, capacity));
  const limits = play.limits(random);
  const { wait } = limits;
  const more = wait === undefined ? {} : { wait };
  const held = new Held(play, { k: SEMAPHORE, fair: terms.fair, weight, capacity, ...more });
  const acquiring = one.acquire(weight, { ...limits, label: held.a }).catch((error: unknown) => {
    // others have agreed on another number
    if (isHoldfastError(error, 'HOLDFAST_MISMATCH')) play.permits = pick(random, PERMITS);
    throw error;
  });
  if (await held.granted(acquiring.then(seen))) await held.section(random);
  if (held.lease !== undefined) await held.release();
}

/** A late copy of an unanswered request changes nothing after this. */
const LATE_MS = 15_000;

async function resize(play: Play, random: Random, from: number): Promise<void> {
  const capacity = pick(random, PERMITS);
  const one = play.holdfast.semaphore(SEMAPHORE, { permits: from });
  const resized = (accepted: boolean): void =>
    play.note({ e: 'resized', k: SEMAPHORE, capacity, accepted });
  play.note({ e: 'resize', k: SEMAPHORE, capacity });
  try {
    await one.setPermits(capacity);
    resized(true);
    play.permits = capacity;
  } catch (error) {
    if (isHoldfastError(error, 'HOLDFAST_MISMATCH')) resized(false);
    else void sleep(LATE_MS, undefined, { ref: false }).then(() => resized(false));
  }
}

/** Several keys at once: a lease for each on record, and one to hold and to release. */
export async function allOf(play: Play, random: Random): Promise<void> {
  const keys = ALL_OF.filter(() => random() < 0.6);
  if (keys.length === 0) return;
  const terms = play.terms(random);
  const limits = play.limits(random);
  const all = keys.map((k) => new Held(play, { k, fair: terms.fair }));
  let lease: MultiLease;
  try {
    lease = await play.holdfast.allOf(keys, terms).acquire(limits);
  } catch (error) {
    for (const held of all) held.failed(codeOf(error));
    return;
  }
  const released = (): Promise<string> => lease.release().catch(codeOf);
  const isHeld = all.map((held) => held.got(partOf(lease, held.k, held.a)));
  if (isHeld.every(Boolean)) await Promise.all(all.map((held) => held.section(random)));
  for (const held of all) held.leave();
  await released();
  for (const held of all) held.left(lease.outcomes.get(held.k) ?? 'uncertain');
}

function partOf(lease: MultiLease, key: string, id: string): LeaseLike {
  return {
    id,
    fence: lease.fences.get(key) as number,
    get held() {
      return lease.held;
    },
    release: () => Promise.resolve('freed'),
  };
}
