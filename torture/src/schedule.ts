/**
 * The order of faults. Everything random comes from the seed; when a fault ends depends on the
 * machine too, so that two runs of a seed resemble each other and are not the same.
 */
import { between, type Random, randomFrom } from 'holdfast-trials/support/random';
import type { Fault, Scene } from './faults/fault.js';

/** Between the end of a fault and the next one of the same sequence. */
const PAUSE_MS = [50, 700] as const;

/** Faults one after the other: each kind once in an order of its own, and again. */
export async function sequence(
  scene: Scene,
  faults: readonly Fault[],
  seed: number,
): Promise<void> {
  const random = randomFrom(seed);
  let deck: Fault[] = [];
  while (!scene.over) {
    if (deck.length === 0) deck = shuffled(random, faults);
    const fault = deck.pop() as Fault;
    const done = await fault.run(scene, random);
    if (!done) scene.skipped.push(fault.kind);
    await scene.sleep(done ? between(random, ...PAUSE_MS) : 1);
  }
}

function shuffled<T>(random: Random, list: readonly T[]): T[] {
  const places = list.map((one) => ({ one, place: random() }));
  return places.sort((a, b) => a.place - b.place).map(({ one }) => one);
}
