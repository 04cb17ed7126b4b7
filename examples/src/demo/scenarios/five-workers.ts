/** Scenario 1: several workers, one lock, and a ttl that is shorter than their work. */
import type { Fault, Pace } from '../plan.js';
import type { Report } from '../reports.js';
import { Resource } from '../resource.js';
import type { Row } from '../display/state.js';
import { count, ms } from '../display/text.js';
import type { Finding, DemoRunner } from '../runner.js';

/** Time between two starts, so that the workers enter the queue in their order. */
const START_INTERVAL_MS = 60;

export function fiveWorkers(runner: DemoRunner, pace: Pace, fault?: Fault): Promise<boolean> {
  const { workers } = runner.group;
  const ttl = `${pace.ttl / 1000} s`;
  const info = {
    title: `Scenario 1   ${workers.length === 5 ? 'Five' : 'Three'} workers, one lock`,
    intro: [
      `A lease lasts ${ttl}, the work takes ${pace.work / 1000} s. Each holder's lease`,
      'is renewed while it works. A release hands the lock to the next worker at once.',
    ],
    span: workers.length * pace.work + 500,
    workers: workers.map(({ name }) => name),
    ttl: pace.ttl,
    notes: 0,
    legend: ['waits', 'holds'] as const,
  };
  return runner.runScenario(info, new Resource(), () => run(runner, pace, fault));
}

async function run(runner: DemoRunner, pace: Pace, fault?: Fault): Promise<Finding> {
  const { group, resource } = runner;
  const { ttl, work } = pace;
  const done: Promise<Report>[] = [];
  for (const worker of group.workers) {
    done.push(runner.next(worker, 'done'));
    // with a different key for each worker there is no mutual exclusion
    const key = fault === 'no-lock' ? `report:${worker.name}` : 'report';
    worker.start({ key, ttl, renew: true, job: work });
    await runner.pause(START_INTERVAL_MS);
  }
  await Promise.all(done);
  const { overlaps, visits } = resource;
  const rows = runner.state?.rows ?? [];
  const fences = rows.toSorted((a, b) => heldFrom(a) - heldFrom(b)).map(({ fence }) => fence ?? 0);
  const increasing = fences.every((fence, index) => fence > (fences[index - 1] ?? 0));
  const handOffs = rows.flatMap(({ handOff }) => handOff ?? []).sort((a, b) => a - b);
  const median = handOffs[Math.ceil(handOffs.length / 2) - 1] ?? Number.NaN;
  const renewals = rows.reduce((sum, row) => sum + row.renewals, 0);
  return {
    checks: [
      {
        ok: overlaps === 0 && visits === rows.length,
        text: `${count(overlaps, 'overlap')} seen by the resource in ${visits} visits`,
      },
      { ok: increasing, text: 'each holder had a higher fence than the one before' },
    ],
    measured:
      `release to next holder: median ${ms(median)}, ` +
      `longest ${ms(handOffs.at(-1) ?? Number.NaN)}; ${count(renewals, 'renewal')}`,
  };
}

function heldFrom({ phases }: Row): number {
  return phases.find(({ phase }) => phase === 'holds')?.from ?? 0;
}
