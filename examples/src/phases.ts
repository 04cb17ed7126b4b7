/**
 * Four workers smooth a row of numbers in phases: no worker begins a phase before all workers have
 * finished the previous one. A latch opens when all workers are ready; a barrier separates the
 * phases.
 *
 *     node examples/dist/phases.js
 */
import { Holdfast, memory } from 'holdfast';

const WORKERS = 4;
const PHASES = 5;

// with a Redis client instead of memory(), the workers can be processes on many machines
await using holdfast = new Holdfast(memory());
const ready = holdfast.latch('example:ready', { count: WORKERS });
const step = holdfast.barrier('example:step', { parties: WORKERS, ttl: 5000 });

let row = [0, 0, 0, 0, 100, 0, 0, 0];
const next = [...row];

async function worker(number: number): Promise<void> {
  await ready.countDown();
  await ready.await();
  for (let phase = 0; phase < PHASES; phase++) {
    for (let at = number; at < row.length; at += WORKERS) {
      const [left = 0, own = 0, right = 0] = [row[at - 1], row[at], row[at + 1]];
      next[at] = (left + own + right) / 3;
    }
    // all workers have computed: the last one to arrive copies the result
    const { index } = await step.await();
    if (index === WORKERS - 1) row = [...next];
    // all workers wait for the copy
    await step.await();
  }
}

await Promise.all(Array.from({ length: WORKERS }, (_, number) => worker(number)));
console.log(row.map((value) => value.toFixed(1)).join(' '));
