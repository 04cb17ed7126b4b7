/**
 * A cron job on three machines. The scheduler of every machine fires, with some jitter, and the job
 * runs once for each tick. This example simulates the machines with three instances on one memory
 * store; on real machines, pass an ioredis or node-redis client to each instance.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast, memory } from 'holdfast';

const store = memory();
const machines = ['anna', 'bert', 'carl'].map((label) => new Holdfast(store, { label }));
const runs = new Map<string, number>();

/** Called by the scheduler of each machine. */
async function fire(machine: Holdfast, tick: string): Promise<string> {
  // `atLeast`: longer than the clock difference between machines, shorter than the interval
  const job = machine.schedule('report', { atLeast: 60, atMost: 5_000 });
  const work = (): void => void runs.set(tick, (runs.get(tick) ?? 0) + 1);
  const outcome = await job.runOnce(work, { slot: tick });
  if (outcome.ran) return 'ran';
  return `skipped (${outcome.reason}: ${outcome.holder?.label ?? 'no holder'})`;
}

for (const tick of ['02:00', '02:01', '02:02']) {
  const outcomes = await Promise.all(
    machines.map(async (machine, index) => {
      // simulated clock difference
      await sleep(((index * 7 + tick.length) % 3) * 20);
      return fire(machine, tick);
    }),
  );
  console.log(`tick ${tick}: ${outcomes.join(', ')}`);
  await sleep(120);
}
console.log(`runs of each tick: ${[...runs.values()].join(', ')}`);
await Promise.all(machines.map((machine) => machine.close()));
