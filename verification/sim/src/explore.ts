/** Runs many seeds, and counts violations. */
import type { Library } from './library.js';
import { planOf, type Special } from './plan/generate.js';
import { runBoth } from './overload.js';

export interface Exploration {
  readonly from: number;
  readonly seeds: number;
  readonly minutes: number;
  /** Stops after this many failed seeds. */
  readonly failures: number;
  /** Kinds of violations that are not checked. */
  readonly ignores: readonly string[];
  /** Plans of this sort only. */
  readonly special: Special | undefined;
}

export async function explore(library: Library, how: Exploration): Promise<boolean> {
  const start = performance.now();
  const minutes = (): number => (performance.now() - start) / 60_000;
  // other programs may use the core too
  const used = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 60e6;
  };
  let [seeds, grants, time, events, failures] = [0, 0, 0, 0, 0];
  while (seeds < how.seeds && minutes() < how.minutes && failures < how.failures) {
    const seed = how.from + seeds;
    const plan = { ...planOf(seed, how.special), ignores: how.ignores };
    const result = await runBoth(plan, library);
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
      `in ${minutes().toFixed(2)} min (${used().toFixed(2)} of a core): ` +
      `${(hours / used()).toFixed(0)} simulated hours a minute of one core`,
  );
  console.log(failures === 0 ? '0 violations' : `${failures} seeds with violations`);
  return failures === 0;
}
