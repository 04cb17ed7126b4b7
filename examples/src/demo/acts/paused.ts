/** Act 3: a holder stands still for longer than its lease lasts, and does not notice. */
import type { Player } from '../crew/crew.js';
import type { Fault, Pace } from '../plan.js';
import { Resource } from '../resource.js';
import type { Finding, Stage } from '../stage.js';

const KEY = 'ledger';

export function paused(
  stage: Stage,
  [sleeper, other]: readonly [Player, Player],
  pace: Pace,
  fault?: Fault,
): Promise<boolean> {
  const setting = {
    title: 'Act 3   A paused holder is fenced off',
    look: stage.crew.words.pausing(sleeper.name),
    span: 2.5 * pace.longTtl,
    players: [sleeper.name, other.name],
    ttl: pace.longTtl,
    notes: 11,
    legend: ['waits', 'holds', 'paused'] as const,
  };
  const resource = new Resource(fault !== 'no-fence');
  return stage.play(setting, resource, () => play(stage, sleeper, other, pace.longTtl));
}

async function play(stage: Stage, sleeper: Player, other: Player, ttl: number): Promise<Finding> {
  const { words, renews } = stage.crew;
  const first = stage.next(sleeper, 'wrote');
  sleeper.start({ key: KEY, ttl, renew: renews, job: 'two writes' });
  const old = await first;
  const asked = stage.next(other, 'waits');
  const otherWrote = stage.next(other, 'wrote');
  other.start({ key: KEY, ttl, renew: true, job: 'two writes' });
  await asked;
  await stage.pause(ttl / 4);
  sleeper.pause();
  stage.tell(sleeper.name, { what: 'paused', how: words.pause });
  // what it will do next is before it already: it does that as soon as it moves again
  const late = stage.next(sleeper, 'wrote');
  const looked = stage.next(sleeper, 'looked');
  if (renews) sleeper.proceed();

  const newer = await otherWrote;
  await stage.pause(ttl / 3);
  stage.tell(sleeper.name, { what: 'resumed', how: words.resume });
  sleeper.resume();
  if (!renews) sleeper.proceed();
  const stale = await late;
  const { held, aborted } = await looked;

  await stage.pause(ttl / 6);
  const [last, done] = [stage.next(other, 'wrote'), stage.next(other, 'done')];
  other.proceed();
  const { fence, highest } = await last;
  await done;
  return {
    checks: [
      {
        ok: stale.fence === old.fence && stale.fence < stale.highest,
        text: 'the late write with the old fence was refused',
      },
      { ok: fence === newer.fence && fence >= highest, text: "the new holder's went through" },
      { ok: !held && aborted, text: 'the late one can know: held is false, its signal aborted' },
    ],
    measured: `old fence ${old.fence}, new fence ${newer.fence}`,
  };
}
