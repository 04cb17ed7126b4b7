/** The mutex: in every mode, given up in every way, held by owners, and entered again. */
import { Redis } from 'ioredis';
import { between, pick, type Random } from 'holdfast-trials/support/random';
import type { Lease } from 'holdfast';
import { MUTEXES, OWNED, OWNERS, REENTRANT } from '../../settings.js';
import { Held, seen } from '../held.js';
import { codeOf, type Play } from '../play.js';

const bare = new Map<string, Redis>();

export async function mutex(play: Play, random: Random): Promise<void> {
  const k = pick(random, Object.keys(MUTEXES));
  const terms = play.terms(random, MUTEXES[k]);
  const one = play.holdfast.mutex(k, terms);
  const { fair } = terms;
  const tries = random() < 0.1;
  const limits = tries ? { wait: 0 } : play.limits(random);
  const { wait } = limits;
  const held = new Held(play, { k, fair, ...(wait === undefined ? {} : { wait }) });
  const options = { ...limits, label: held.a };
  const acquiring = tries ? one.tryAcquire() : one.acquire(options);
  if (await held.granted(acquiring.then(seen))) await held.section(random);
  if (held.lease === undefined) return;
  const outcome = await held.release();
  if (outcome !== 'lost' || play.given.fault !== 'release-without-compare') return;
  // the planted fault: a release that does not compare the id
  const { url } = play.given;
  const client = bare.get(url) ?? new Redis(url);
  client.on('error', () => undefined);
  bare.set(url, client);
  await client.del(`holdfast:{${k}}`).catch(() => undefined);
}

/** Several holds of one owner's lease, here and in other processes, released in any order. */
export async function owned(play: Play, random: Random): Promise<void> {
  const owner = pick(random, OWNERS);
  const terms = play.terms(random);
  const one = play.holdfast.mutex(OWNED, { ...terms, owner });
  const holds = 1 + Math.floor(between(random, 0, 5));
  const hold = async (): Promise<void> => {
    const limits = play.limits(random);
    const { wait } = limits;
    const more = wait === undefined ? {} : { wait };
    const held = new Held(play, { k: OWNED, fair: terms.fair, owner, ...more });
    if (await held.granted(one.acquire(limits).then(seen))) await held.section(random);
    if (held.lease !== undefined) await held.release();
  };
  await Promise.all(Array.from({ length: holds }, hold));
}

/** A run inside a run: the inner one goes on under the outer lease, and never waits for it. */
export async function reentrant(play: Play, random: Random): Promise<void> {
  const terms = play.terms(random);
  const one = play.holdfast.mutex(REENTRANT, { ...terms, reentrant: true });
  const held = new Held(play, { k: REENTRANT, fair: terms.fair });
  try {
    await one.run(async (lease: Lease) => {
      if (held.got(seen(lease) as NonNullable<ReturnType<typeof seen>>)) {
        await held.section(random);
        await one.run(async (inner) => {
          // another lease would have another fence, which the outer attempt must not write with
          if (inner.fence !== lease.fence && lease.held) throw new Error('entered anew');
          await held.section(random);
        });
      }
      held.leave();
    });
    held.left('freed');
  } catch (error) {
    if (held.lease === undefined) held.failed(codeOf(error));
    else {
      held.leave();
      held.left(codeOf(error));
    }
  }
}
