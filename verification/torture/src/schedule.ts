/**
 * The order of faults. All random choices come from the seed. When a fault ends also depends on the
 * machine, so two runs with one seed are similar, not equal.
 */
import { between, type Random, randomFrom } from 'holdfast-trials/support/random';
import type { Scenario } from './scenario.js';
import type { Fault, FaultContext } from './faults/fault.js';

/** Pause between two faults of a sequence. */
const PAUSE_MS = [50, 700] as const;

/** Runs faults one after the other: each kind once in random order, then again. */
export async function sequence<S extends Scenario>(
  context: FaultContext<S>,
  faults: readonly Fault<S>[],
  seed: number,
): Promise<void> {
  const random = randomFrom(seed);
  let pending: Fault<S>[] = [];
  while (!context.over) {
    if (pending.length === 0) pending = shuffled(random, faults);
    const fault = pending.pop() as Fault<S>;
    const done = await fault.run(context, random);
    if (!done) context.skipped.push(fault.kind);
    await context.sleep(done ? between(random, ...PAUSE_MS) : 1);
  }
}

function shuffled<T>(random: Random, list: readonly T[]): T[] {
  const places = list.map((one) => ({ one, place: random() }));
  return places.sort((a, b) => a.place - b.place).map(({ one }) => one);
}
