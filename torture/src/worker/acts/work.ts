/** Work of which one at a time is enough: elections, schedules, single flights. */
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, type Random } from 'holdfast-trials/support/random';
import type { ScheduledRun } from 'holdfast';
import { ELECTION, FLIGHT, SCHEDULE } from '../../settings.js';
import { Held, type LeaseLike, seen } from '../held.js';
import { codeOf, type Play } from '../play.js';

/** One term: candidates stand in line, one of them leads. */
export async function election(play: Play, random: Random): Promise<void> {
  const { ttl } = play.terms(random);
  const limits = play.limits(random);
  const { wait } = limits;
  const more = wait === undefined ? {} : { wait };
  const held = new Held(play, { k: ELECTION, fair: true, ...more });
  const campaign = play.holdfast.election(ELECTION, { ttl }).campaign(limits);
  const leads = campaign.then(
    (leadership): LeaseLike => ({
      id: leadership.id,
      fence: leadership.term,
      get held() {
        return leadership.leads;
      },
      release: () => leadership.resign().catch(codeOf),
    }),
  );
  if (await held.granted(leads)) await held.section(random);
  if (held.lease !== undefined) await held.release();
}

/** Ticks have names that all processes agree on, and most fire for the same ones. */
const TICK_MS = 700;
const REMEMBER_MS = 60_000;

export async function schedule(play: Play, random: Random): Promise<void> {
  const { ttl } = play.terms(random);
  const atLeast = between(random, 0, 300);
  const more = { atLeast, atMost: 5000, remember: REMEMBER_MS, ttl };
  const one = play.holdfast.schedule(SCHEDULE, more);
  const slot = random() < 0.7 ? `${Math.floor(monotonic() / TICK_MS)}` : undefined;
  const wait = random() < 0.5 ? 0 : between(random, 1, 300);
  const held = new Held(play, { k: SCHEDULE, fair: true });
  const work = async (run: ScheduledRun): Promise<void> => {
    const lease: LeaseLike = {
      id: held.a,
      fence: run.fence,
      get held() {
        return run.held;
      },
      release: () => Promise.resolve('freed'),
    };
    const isHeld = held.got(lease);
    if (slot !== undefined) {
      play.note({ e: 'run', k: SCHEDULE, a: held.a, slot, remember: REMEMBER_MS });
    }
    if (isHeld) await held.section(random);
    held.leave();
  };
  try {
    const outcome = await one.runOnce(work, slot === undefined ? { wait } : { wait, slot });
    if (outcome.ran) held.left('freed');
    else held.failed(outcome.why);
  } catch (error) {
    ended(held, error);
  }
}

/** One computes, the others wait for it. */
export async function flight(play: Play, random: Random): Promise<void> {
  const { ttl } = play.terms(random);
  const held = new Held(play, { k: FLIGHT, fair: false });
  try {
    const { led } = await play.holdfast.singleFlight(FLIGHT, { ttl }).do(async (lease) => {
      const isHeld = held.got(seen(lease) as LeaseLike);
      if (isHeld) await held.section(random);
      held.leave();
    }, play.limits(random));
    if (led) held.left('freed');
    else held.failed('followed');
  } catch (error) {
    ended(held, error);
  }
}

/** The call rejected, before or after its work. */
function ended(held: Held, error: unknown): void {
  if (held.lease === undefined) held.failed(codeOf(error));
  else {
    held.leave();
    held.left(codeOf(error));
  }
}
