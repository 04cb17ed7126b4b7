/**
 * A cron job on three machines. Every machine's scheduler fires, none exactly on time; each tick is
 * worked on once. Here the machines are three instances on one embedded store; on real ones, give
 * each an ioredis or node-redis client.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast, memory } from 'holdfast';

const store = memory();
const machines = ['anna', 'bert', 'carl'].map((label) => new Holdfast(store, { label }));
const runs = new Map<string, number>();

/** What a machine's scheduler calls. */
async function fire(machine: Holdfast, tick: string): Promise<string> {
  // longer than the clocks of the machines differ, shorter than the interval
  const job = machine.schedule('report', { atLeast: 60, atMost: 5_000 });
  const work = (): void => void runs.set(tick, (runs.get(tick) ?? 0) + 1);
  const outcome = await job.runOnce(work, { slot: tick });
  if (outcome.ran) return 'ran';
  return `skipped (${outcome.why}: ${outcome.holder?.label ?? 'nobody any more'})`;
}

for (const tick of ['02:00', '02:01', '02:02']) {
  const outcomes = await Promise.all(
    machines.map(async (machine, index) => {
      // clocks differ
      await sleep(((index * 7 + tick.length) % 3) * 20);
      return fire(machine, tick);
    }),
  );
  console.log(`tick ${tick}: ${outcomes.join(', ')}`);
  await sleep(120);
}
console.log(`runs of each tick: ${[...runs.values()].join(', ')}`);
await Promise.all(machines.map((machine) => machine.close()));
