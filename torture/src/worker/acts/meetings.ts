/** Conditions, latches and barriers. */
import { isHoldfastError } from 'holdfast';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, type Random } from 'holdfast-trials/support/random';
import { BARRIER, CONDITION, LATCH, PARTIES, STOCK } from '../../settings.js';
import { Held, seen } from '../held.js';
import { codeOf, type Play } from '../play.js';

/** Some wait at a condition, some signal it. */
export async function condition(play: Play, random: Random): Promise<void> {
  const waits = random() < 0.5;
  // a wait may be longer than a lease that is not renewed, which is then granted anew
  const terms = play.terms(random);
  const one = play.holdfast.mutex(STOCK, terms);
  const held = new Held(play, { k: STOCK, fair: terms.fair });
  let lease: Awaited<ReturnType<typeof one.acquire>> | undefined;
  const acquiring = one.acquire().then((granted) => {
    lease = granted;
    return seen(granted);
  });
  if (!(await held.granted(acquiring)) || lease === undefined) {
    if (held.lease !== undefined) await held.release();
    return;
  }
  await held.section(random);
  const place = one.condition(CONDITION);
  if (!waits) {
    await signal(play, random, held, place, lease);
    await held.release();
    return;
  }
  const back = await park(play, random, held, place, lease);
  if (back !== undefined && back.believes()) await back.section(random);
  await (back?.release() ?? lease.release().catch(codeOf));
}

type Place = ReturnType<ReturnType<Play['holdfast']['mutex']>['condition']>;
type Lease = Parameters<Place['await']>[0];

async function signal(
  play: Play,
  random: Random,
  held: Held,
  place: Place,
  lease: Lease,
): Promise<void> {
  const about = { k: STOCK, a: held.a, c: CONDITION };
  if (!held.believes()) return;
  play.note({ e: 'signal', ...about });
  let count: number | null = null;
  try {
    count = await (random() < 0.2 ? place.signalAll(lease) : place.signal(lease));
  } catch {
    // it may have woken one, or not
  }
  play.note({ e: 'signalled', ...about, count });
}

/** Gives the lock up, and comes back with a lease of its own; `undefined` if it does not. */
async function park(
  play: Play,
  random: Random,
  held: Held,
  place: Place,
  lease: Lease,
): Promise<Held | undefined> {
  const about = { k: STOCK, a: held.a, c: CONDITION };
  const { id } = lease;
  held.leave();
  play.note({ e: 'park', ...about });
  const limit = random() < 0.3 ? {} : { wait: between(random, 20, 1500) };
  let signalled: boolean | null = null;
  try {
    signalled = await place.await(lease, { ...limit, signal: play.finish.signal });
  } catch (error) {
    // aborted at the end of the run: it has the lock again, without a signal
    if (isHoldfastError(error, 'HOLDFAST_ABORTED')) signalled = false;
  }
  held.left(signalled === null ? 'HOLDFAST_UNCERTAIN' : 'freed');
  play.note({ e: 'woken', ...about, signalled });
  if (lease.id === id) return undefined;
  const back = new Held(play, { k: STOCK, fair: false, back: true });
  back.got(seen(lease) as NonNullable<ReturnType<typeof seen>>);
  return back;
}

/** A latch for each few seconds: some count it down, some wait for it. */
const ROUND_MS = 3000;
const LATCH_MS = 60_000;

export async function latch(play: Play, random: Random): Promise<void> {
  const k = `${LATCH} ${Math.floor(monotonic() / ROUND_MS)}`;
  const size = 4;
  const one = play.holdfast.latch(k, { count: size, ttl: LATCH_MS });
  const g = play.name();
  try {
    if (random() < 0.5) {
      const by = random() < 0.2 ? 2 : 1;
      play.note({ e: 'count', k, g, size, by });
      const left = await one.countDown(by);
      play.note({ e: 'counted', k, g, left });
    } else {
      const wait = between(random, 1, ROUND_MS);
      play.note({ e: 'await', k, g, gate: 'latch', size, wait });
      await one.await({ wait, signal: play.finish.signal });
      play.note({ e: 'passed', k, g });
    }
  } catch (error) {
    play.note({ e: 'stopped', k, g, code: codeOf(error) });
  }
}

export async function barrier(play: Play, random: Random): Promise<void> {
  const one = play.holdfast.barrier(BARRIER, { parties: PARTIES, ttl: 2000 });
  const g = play.name();
  const wait = between(random, 200, 5000);
  play.note({ e: 'await', k: BARRIER, g, gate: 'barrier', size: PARTIES, wait });
  try {
    const { generation, index } = await one.await({ wait, signal: play.finish.signal });
    play.note({ e: 'passed', k: BARRIER, g, generation, index });
  } catch (error) {
    play.note({ e: 'stopped', k: BARRIER, g, code: codeOf(error) });
  }
}
