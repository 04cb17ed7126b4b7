/** Act 1: several workers, one lock, and a ttl that is shorter than their work. */
import type { Fault, Pace } from '../plan.js';
import type { Report } from '../reports.js';
import { Resource } from '../resource.js';
import type { Row } from '../show/scene.js';
import { count, ms } from '../show/words.js';
import type { Finding, Stage } from '../stage.js';

/** Time between two that ask: so that they stand in the queue in their order. */
const APART_MS = 60;

export function fiveWorkers(stage: Stage, pace: Pace, fault?: Fault): Promise<boolean> {
  const { players } = stage.crew;
  const ttl = `${pace.ttl / 1000} s`;
  const setting = {
    title: `Act 1   ${players.length === 5 ? 'Five' : 'Three'} workers, one lock`,
    look: [
      `A lease lasts ${ttl}, the work takes ${pace.work / 1000} s. See how each holder's lease`,
      'is renewed while it works, and how the lock goes on the moment it is released.',
    ],
    span: players.length * pace.work + 500,
    players: players.map(({ name }) => name),
    ttl: pace.ttl,
    notes: 0,
    legend: ['waits', 'holds'] as const,
  };
  return stage.play(setting, new Resource(), () => play(stage, pace, fault));
}

async function play(stage: Stage, pace: Pace, fault?: Fault): Promise<Finding> {
  const { crew, resource } = stage;
  const { ttl, work } = pace;
  const done: Promise<Report>[] = [];
  for (const player of crew.players) {
    done.push(stage.next(player, 'done'));
    // workers with a lock of their own are workers without a lock
    const key = fault === 'no-lock' ? `report:${player.name}` : 'report';
    player.start({ key, ttl, renew: true, job: work });
    await stage.pause(APART_MS);
  }
  await Promise.all(done);
  const { overlaps, visits } = resource;
  const rows = stage.scene?.rows ?? [];
  const fences = rows.toSorted((a, b) => heldFrom(a) - heldFrom(b)).map(({ fence }) => fence ?? 0);
  const grow = fences.every((fence, index) => fence > (fences[index - 1] ?? 0));
  const handOffs = rows.flatMap(({ handOff }) => handOff ?? []).sort((a, b) => a - b);
  const middle = handOffs[Math.ceil(handOffs.length / 2) - 1] ?? Number.NaN;
  const renewals = rows.reduce((sum, row) => sum + row.renewals, 0);
  return {
    checks: [
      {
        ok: overlaps === 0 && visits === rows.length,
        text: `${count(overlaps, 'overlap')} seen by the resource in ${visits} visits`,
      },
      { ok: grow, text: 'each holder had a higher fence than the one before' },
    ],
    measured:
      `release to next holder: median ${ms(middle)}, ` +
      `longest ${ms(handOffs.at(-1) ?? Number.NaN)}; ${count(renewals, 'renewal')}`,
  };
}

function heldFrom({ phases }: Row): number {
  return phases.find(({ phase }) => phase === 'holds')?.from ?? 0;
}
