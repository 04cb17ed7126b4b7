/** Runs many seeds, and counts. */
import type { Library } from './library.js';
import { planOf } from './plan/generate.js';
import { run } from './run.js';

/** Failed seeds after which it is enough. */
const FAILURES_MAX = 20;

export async function explore(
  library: Library,
  how: { readonly from: number; readonly seeds: number; readonly minutes: number },
): Promise<boolean> {
  const start = performance.now();
  const minutes = (): number => (performance.now() - start) / 60_000;
  let [seeds, grants, time, events, failures] = [0, 0, 0, 0, 0];
  while (seeds < how.seeds && minutes() < how.minutes && failures < FAILURES_MAX) {
    const seed = how.from + seeds;
    const plan = planOf(seed);
    const result = await run(plan, library);
    seeds += 1;
    grants += result.grants;
    time += result.time;
    events += result.events;
    const [first] = result.violations;
    if (first === undefined) continue;
    failures += 1;
    console.log(`seed ${seed} (${plan.profile}): ${first.kind} ${first.key}: ${first.text}`);
  }
  const hours = time / 3_600_000;
  console.log(
    `${seeds} seeds, ${grants} grants, ${hours.toFixed(1)} simulated hours, ${events} events ` +
      `in ${minutes().toFixed(2)} min: ${(hours / minutes()).toFixed(0)} hours a minute`,
  );
  console.log(failures === 0 ? '0 violations' : `${failures} seeds with violations`);
  return failures === 0;
}
