/** Act 2: a holder dies without warning. */
import type { Fault, Pace } from '../plan.js';
import { Resource } from '../resource.js';
import { ms } from '../show/words.js';
import type { Finding, Stage } from '../stage.js';
import { now } from '../time.js';
import type { Player } from '../crew/crew.js';

const KEY = 'invoice';
/**
 * The server counts with the wall clock, the demo with one that never steps: while the first is
 * being adjusted, they may differ a little in speed.
 */
const CLOCKS_APART_MS = 1;

export function killed(
  stage: Stage,
  [victim, next]: readonly [Player, Player],
  pace: Pace,
  fault?: Fault,
): Promise<boolean> {
  const setting = {
    title: 'Act 2   A holder dies without warning',
    look: stage.crew.words.killing(victim.name, next.name),
    span: 2.5 * pace.longTtl,
    players: [victim.name, next.name],
    ttl: pace.longTtl,
    notes: 4,
    legend: ['waits', 'holds', 'dead'] as const,
  };
  return stage.play(setting, new Resource(), () => play(stage, victim, next, pace.longTtl, fault));
}

async function play(
  stage: Stage,
  victim: Player,
  next: Player,
  ttl: number,
  fault?: Fault,
): Promise<Finding> {
  const { crew } = stage;
  const held = stage.next(victim, 'holds');
  victim.start({ key: KEY, ttl, renew: crew.renews, job: 'for ever' });
  await held;
  const asked = stage.next(next, 'waits');
  const takenOver = stage.next(next, 'holds');
  const done = stage.next(next, 'done');
  next.start({ key: KEY, ttl, renew: true, job: ttl / 2 });
  await asked;
  await stage.pause(ttl / 2);
  await victim.kill();

  // the store counts what remains after the question was sent: so the lease ends here or later
  const sentAt = now();
  const remaining = (await crew.observer.inspect(KEY))?.holders[0]?.remaining ?? 0;
  const leaseEnds = sentAt + remaining;
  stage.tell(victim.name, { what: 'killed', how: crew.words.kill, leaseEnds });
  if (fault === 'early-release') await crew.observer.forceRelease(KEY);

  const after = (await takenOver).at - leaseEnds;
  await done;
  const side = after < 0 ? 'BEFORE' : 'after';
  const text = `taken over ${ms(Math.abs(after))} ${side} the lease ended`;
  return {
    checks: [{ ok: remaining > 0 && after >= -CLOCKS_APART_MS, text }],
    measured: `${victim.name}'s lease had ${ms(remaining)} left when it died; ttl ${ttl} ms`,
  };
}
