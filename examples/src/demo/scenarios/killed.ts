/** Scenario 2: a holder is killed. */
import type { Fault, Pace } from '../plan.js';
import { Resource } from '../resource.js';
import { ms } from '../display/text.js';
import type { Finding, DemoRunner } from '../runner.js';
import { now } from '../time.js';
import type { DemoWorker } from '../workers/workers.js';

const KEY = 'invoice';
/**
 * The server uses the wall clock, the demo a monotonic clock. While the wall clock is adjusted,
 * their rates may differ a little.
 */
const CLOCK_DRIFT_MS = 1;

export function killed(
  runner: DemoRunner,
  [victim, next]: readonly [DemoWorker, DemoWorker],
  pace: Pace,
  fault?: Fault,
): Promise<boolean> {
  const info = {
    title: 'Scenario 2   A holder is killed',
    intro: runner.group.texts.killIntro(victim.name, next.name),
    span: 2.5 * pace.longTtl,
    workers: [victim.name, next.name],
    ttl: pace.longTtl,
    notes: 4,
    legend: ['waits', 'holds', 'dead'] as const,
  };
  return runner.runScenario(info, new Resource(), () =>
    run(runner, victim, next, pace.longTtl, fault),
  );
}

async function run(
  runner: DemoRunner,
  victim: DemoWorker,
  next: DemoWorker,
  ttl: number,
  fault?: Fault,
): Promise<Finding> {
  const { group } = runner;
  const held = runner.next(victim, 'holds');
  victim.start({ key: KEY, ttl, renew: group.renews, job: 'forever' });
  await held;
  const requested = runner.next(next, 'waits');
  const takenOver = runner.next(next, 'holds');
  const done = runner.next(next, 'done');
  next.start({ key: KEY, ttl, renew: true, job: ttl / 2 });
  await requested;
  await runner.pause(ttl / 2);
  await victim.kill();

  // the store computes the remaining time after `sentAt`, so the lease ends at `leaseEnds` or later
  const sentAt = now();
  const remaining = (await group.observer.inspect(KEY))?.holders[0]?.remaining ?? 0;
  const leaseEnds = sentAt + remaining;
  runner.report(victim.name, { what: 'killed', how: group.texts.killed, leaseEnds });
  if (fault === 'early-release') await group.observer.forceRelease(KEY);

  const after = (await takenOver).at - leaseEnds;
  await done;
  const side = after < 0 ? 'BEFORE' : 'after';
  const text = `taken over ${ms(Math.abs(after))} ${side} the lease ended`;
  return {
    checks: [{ ok: remaining > 0 && after >= -CLOCK_DRIFT_MS, text }],
    measured: `lease of ${victim.name} at the kill: ${ms(remaining)} remaining, ttl ${ttl} ms`,
  };
}
