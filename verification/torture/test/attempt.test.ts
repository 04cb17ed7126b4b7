/** The events of an attempt whose lease is in doubt for a while. */
import { type HistoryEvent, ALL, violations } from 'holdfast-checker';
import { expect, it } from 'vitest';
import { Attempt } from '../src/worker/attempt.js';
import type { Workload } from '../src/worker/workload.js';

const WRITER = 9;

interface Run {
  readonly events: HistoryEvent[];
  readonly attempt: (p: string, weight: number) => Attempt;
}

/** A workload that only collects events; it numbers them instead of taking the time. */
function run(): Run {
  const events: HistoryEvent[] = [];
  let names = 0;
  return {
    events,
    attempt: (p, weight) => {
      const note = (happening: object): void =>
        void events.push({ ...happening, t: events.length, p } as HistoryEvent);
      const name = (): string => `${p}/${(names += 1)}`;
      const workload = { note, name, given: { fault: undefined }, granted: () => undefined };
      const options = { k: 'k', fair: false, weight, capacity: WRITER };
      return new Attempt(workload as unknown as Workload, options);
    },
  };
}

function leaseOf(
  id: string,
  fence: number,
): { held: boolean } & Parameters<Attempt['noteGrant']>[0] {
  return { id, fence, held: true, release: () => Promise.resolve('freed') };
}

/**
 * A writer is in doubt, and downgrades. A reader is granted. Then the writer's lease is held again:
 * the answer to a renewal came late. It is a reader now.
 */
async function downgradeInDoubt(note: (attempt: Attempt) => void): Promise<HistoryEvent[]> {
  const { events, attempt } = run();
  const writer = attempt('p1', WRITER);
  const lease = leaseOf('w', 1);
  writer.noteGrant(lease);
  writer.isHeld();
  lease.held = false;
  note(writer);
  const reader = attempt('p2', 1);
  reader.noteGrant(leaseOf('r', 2));
  lease.held = true;
  expect(writer.isHeld()).toBe(true);
  await reader.release();
  await writer.release();
  events.push({ e: 'end', t: events.length, p: '-' });
  return events;
}

it('a downgrade is noted also while the lease is in doubt', async () => {
  const events = await downgradeInDoubt((writer) => {
    writer.noteWeight(1);
    expect(writer.alone).toBe(false);
  });
  expect(events).toContainEqual(expect.objectContaining({ e: 'weight', weight: 1, held: false }));
  expect(violations(events, ALL)).toEqual([]);
});

it('without that event, the history shows a reader next to a writer', async () => {
  const events = await downgradeInDoubt(() => undefined);
  expect(violations(events, ALL).map(({ check }) => check)).toEqual(['exclusion']);
});
