/** Work that one process at a time does: elections, schedules, single flights. */
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, type Random } from 'holdfast-trials/support/random';
import type { ScheduledRun } from 'holdfast';
import { ELECTION, FLIGHT, SCHEDULE } from '../../settings.js';
import { Attempt, type LeaseLike, leaseView } from '../attempt.js';
import { codeOf, type Workload } from '../workload.js';

/** One term of an election: candidates wait until they lead. */
export async function election(workload: Workload, random: Random): Promise<void> {
  const { ttl } = workload.drawLockOptions(random);
  const limits = workload.limits(random);
  const { wait } = limits;
  const more = wait === undefined ? {} : { wait };
  const attempt = new Attempt(workload, { k: ELECTION, fair: true, ...more });
  const campaign = workload.holdfast.election(ELECTION, { ttl }).campaign(limits);
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
  if (await attempt.granted(leads)) await attempt.section(random);
  if (attempt.lease !== undefined) await attempt.release();
}

/** All processes compute the same slot names; most calls use the slot of the current time. */
const TICK_MS = 700;

export async function schedule(workload: Workload, random: Random): Promise<void> {
  const { ttl } = workload.drawLockOptions(random);
  const atLeast = between(random, 0, 300);
  const { retention } = workload.terms;
  const more = { atLeast, atMost: 5000, retention, ttl };
  const one = workload.holdfast.schedule(SCHEDULE, more);
  const slot = random() < 0.7 ? `${Math.floor(monotonic() / TICK_MS)}` : undefined;
  const wait = random() < 0.5 ? 0 : between(random, 1, 300);
  const attempt = new Attempt(workload, { k: SCHEDULE, fair: true });
  const work = async (run: ScheduledRun): Promise<void> => {
    const lease: LeaseLike = {
      id: attempt.a,
      fence: run.fence,
      get held() {
        return run.held;
      },
      release: () => Promise.resolve('freed'),
    };
    const isHeld = attempt.noteGrant(lease);
    if (slot !== undefined) {
      workload.note({ e: 'run', k: SCHEDULE, a: attempt.a, slot, retention });
    }
    if (isHeld) await attempt.section(random);
    attempt.noteRelease();
  };
  try {
    const outcome = await one.runOnce(work, slot === undefined ? { wait } : { wait, slot });
    if (outcome.ran) attempt.noteOutcome('freed');
    else attempt.noteFailure(outcome.reason);
  } catch (error) {
    noteRejected(attempt, error);
  }
}

/** One process computes, the others wait for its result. */
export async function flight(workload: Workload, random: Random): Promise<void> {
  const { ttl } = workload.drawLockOptions(random);
  const attempt = new Attempt(workload, { k: FLIGHT, fair: false });
  try {
    const { led } = await workload.holdfast.singleFlight(FLIGHT, { ttl }).do(async (lease) => {
      const isHeld = attempt.noteGrant(leaseView(lease) as LeaseLike);
      if (isHeld) await attempt.section(random);
      attempt.noteRelease();
    }, workload.limits(random));
    if (led) attempt.noteOutcome('freed');
    else attempt.noteFailure('followed');
  } catch (error) {
    noteRejected(attempt, error);
  }
}

/** Notes that the call rejected, before or after its work. */
function noteRejected(attempt: Attempt, error: unknown): void {
  if (attempt.lease === undefined) attempt.noteFailure(codeOf(error));
  else {
    attempt.noteRelease();
    attempt.noteOutcome(codeOf(error));
  }
}
