/** Runs many seeds of a world with a store of its own, and counts violations. */
import type { Violation } from './leases.js';

export interface Exploration {
  readonly from: number;
  readonly seeds: number;
  readonly minutes: number;
  /** Stops after this many failed seeds. */
  readonly failures: number;
}

type Counts<R> = Exclude<keyof R, 'violations'> & string;

/** @param names what is summed up: the name of a count, and how it is called */
export async function exploreSeeds<R extends { readonly violations: readonly Violation[] }>(
  run: (seed: number) => Promise<R>,
  names: Readonly<Record<Counts<R>, string>>,
  { from, seeds, minutes, failures }: Exploration,
): Promise<boolean> {
  const start = performance.now();
  const elapsed = (): number => (performance.now() - start) / 60_000;
  const counted = Object.entries<string>(names);
  const sums = new Map<string, number>();
  let [done, failed] = [0, 0];
  while (done < seeds && elapsed() < minutes && failed < failures) {
    const seed = from + done;
    const result = await run(seed);
    done += 1;
    for (const [name] of counted) {
      sums.set(name, (sums.get(name) ?? 0) + (result[name as keyof R] as number));
    }
    const [first] = result.violations;
    if (first === undefined) continue;
    failed += 1;
    console.log(`seed ${seed}: ${first.kind} at ${first.at.toFixed(3)}: ${first.text}`);
  }
  const parts = counted.map(([name, words]) => `${sums.get(name) ?? 0} ${words}`);
  console.log(`${done} seeds, ${parts.join(', ')} in ${elapsed().toFixed(2)} min`);
  console.log(failed === 0 ? '0 violations' : `${failed} seeds with violations`);
  return failed === 0;
}
