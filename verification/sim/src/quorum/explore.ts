/** Runs many seeds of simulated quorums, and counts violations. */
import type { QuorumLibrary } from './library.js';
import { quorumPlanOf } from './plan.js';
import { runQuorum } from './run.js';

export interface QuorumExploration {
  readonly from: number;
  readonly seeds: number;
  readonly minutes: number;
  /** Stops after this many failed seeds. */
  readonly failures: number;
}

export async function exploreQuorum(
  library: QuorumLibrary,
  { from, seeds, minutes, failures }: QuorumExploration,
): Promise<boolean> {
  const start = performance.now();
  const elapsed = (): number => (performance.now() - start) / 60_000;
  const sums = { grants: 0, restarts: 0, crashes: 0, steps: 0, events: 0 };
  let [done, failed] = [0, 0];
  while (done < seeds && elapsed() < minutes && failed < failures) {
    const seed = from + done;
    const { violations, ...counts } = await runQuorum(quorumPlanOf(seed), library);
    done += 1;
    for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += counts[name];
    const [first] = violations;
    if (first === undefined) continue;
    failed += 1;
    console.log(`seed ${seed}: ${first.kind} at ${first.at.toFixed(3)}: ${first.text}`);
  }
  console.log(
    `${done} seeds, ${sums.grants} grants, ${sums.restarts} restarts of servers, ` +
      `${sums.crashes} crashes of processes, ${sums.steps} steps of a clock, ` +
      `${sums.events} events in ${elapsed().toFixed(2)} min`,
  );
  console.log(failed === 0 ? '0 violations' : `${failed} seeds with violations`);
  return failed === 0;
}
