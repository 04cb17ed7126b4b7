/**
 * Controls that depend on chance: a run with a planted fault, which an instrument must find. A
 * single run may give the fault no occasion, so it is repeated with a new seed until the fault
 * shows.
 */

/**
 * The most runs. Each run is made so long that it shows its fault in at least half of all cases,
 * also on a loaded machine. So a fault that can be found is missed with a probability of less than
 * one in a million: 2 ** -20.
 */
const RUNS = 20;

/**
 * Repeats a run until all kinds of findings have occurred. Rejects after too many runs.
 * @param run resolves to the kinds of its findings
 */
export async function untilShown(
  kinds: readonly string[],
  run: () => Promise<readonly string[]>,
): Promise<void> {
  const missing = new Set(kinds);
  for (let count = 0; count < RUNS; count++) {
    for (const kind of await run()) missing.delete(kind);
    if (missing.size === 0) return;
  }
  throw new Error(`${RUNS} runs with the planted fault did not show: ${[...missing].join(', ')}`);
}
