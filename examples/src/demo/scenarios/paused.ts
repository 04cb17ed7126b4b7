/** Scenario 3: a holder is paused for longer than its lease, and does not notice. */
import type { DemoWorker } from '../workers/workers.js';
import type { Fault, Pace } from '../plan.js';
import { Resource } from '../resource.js';
import type { Finding, DemoRunner } from '../runner.js';

const KEY = 'ledger';

export function paused(
  runner: DemoRunner,
  [pausedWorker, other]: readonly [DemoWorker, DemoWorker],
  pace: Pace,
  fault?: Fault,
): Promise<boolean> {
  const info = {
    title: 'Scenario 3   A paused holder is fenced off',
    intro: runner.group.texts.pauseIntro(pausedWorker.name),
    span: 2.5 * pace.longTtl,
    workers: [pausedWorker.name, other.name],
    ttl: pace.longTtl,
    notes: 11,
    legend: ['waits', 'holds', 'paused'] as const,
  };
  const resource = new Resource(fault !== 'no-fence');
  return runner.runScenario(info, resource, () => run(runner, pausedWorker, other, pace.longTtl));
}

async function run(
  runner: DemoRunner,
  pausedWorker: DemoWorker,
  other: DemoWorker,
  ttl: number,
): Promise<Finding> {
  const { texts, renews } = runner.group;
  const first = runner.next(pausedWorker, 'wrote');
  pausedWorker.start({ key: KEY, ttl, renew: renews, job: 'two writes' });
  const old = await first;
  const requested = runner.next(other, 'waits');
  const otherWrote = runner.next(other, 'wrote');
  other.start({ key: KEY, ttl, renew: true, job: 'two writes' });
  await requested;
  await runner.pause(ttl / 4);
  pausedWorker.pause();
  runner.report(pausedWorker.name, { what: 'paused', how: texts.paused });
  // a process receives `proceed` while it is stopped, and acts on it when it is resumed
  const staleWrite = runner.next(pausedWorker, 'wrote');
  const looked = runner.next(pausedWorker, 'looked');
  if (renews) pausedWorker.proceed();

  const newer = await otherWrote;
  await runner.pause(ttl / 3);
  runner.report(pausedWorker.name, { what: 'resumed', how: texts.resumed });
  pausedWorker.resume();
  if (!renews) pausedWorker.proceed();
  const stale = await staleWrite;
  const { held, aborted } = await looked;

  await runner.pause(ttl / 6);
  const [last, done] = [runner.next(other, 'wrote'), runner.next(other, 'done')];
  other.proceed();
  const { fence, highest } = await last;
  await done;
  return {
    checks: [
      {
        ok: stale.fence === old.fence && stale.fence < stale.highest,
        text: 'the late write with the old fence was refused',
      },
      {
        ok: fence === newer.fence && fence >= highest,
        text: "the new holder's write was accepted",
      },
      {
        ok: !held && aborted,
        text: 'the old holder can detect it: held is false, its signal is aborted',
      },
    ],
    measured: `old fence ${old.fence}, new fence ${newer.fence}`,
  };
}
