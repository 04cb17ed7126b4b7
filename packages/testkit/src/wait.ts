/** Waiting for states instead of for time, and percentiles of what was measured. */

/** How long to wait for a state, and how often to look. */
export interface Patience {
  /** Milliseconds until the wait fails. Default 5000. */
  within?: number;
  /** Milliseconds between two looks. Default 5. */
  every?: number;
  /** What is waited for, in words, for the error. Default: the source of the predicate. */
  what?: string;
}

/**
 * Resolves after `ms`. For polling and for faults that are made of time; a test waits with `until`.
 */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Waits until `predicate` gives something truthy, and gives that. A predicate that throws counts as
 * "not yet": its last error is part of the failure, so that an assertion can be waited for.
 */
export async function until<T>(
  predicate: () => T | Promise<T>,
  { within = 5000, every = 5, what = String(predicate) }: Patience = {},
): Promise<Exclude<T, false | 0 | '' | null | undefined>> {
  const start = performance.now();
  let last: unknown;
  for (let looks = 1; ; looks++) {
    try {
      const value = await predicate();
      if (value) return value as Exclude<T, false | 0 | '' | null | undefined>;
      last = value;
    } catch (error) {
      last = error;
    }
    if (performance.now() - start >= within) {
      const seen = last instanceof Error ? `it threw: ${last.message}` : `it gave: ${show(last)}`;
      const message = `not within ${within} ms (${looks} looks): ${what}\nlast time ${seen}`;
      throw new Error(message, { cause: last });
    }
    await sleep(every);
  }
}

/**
 * The value below which the share `p` (0 to 100) of the numbers lies, by nearest rank. NaN for
 * none.
 */
export function percentile(numbers: readonly number[], p: number): number {
  const sorted = Float64Array.from(numbers).sort();
  const rank = Math.ceil((p / 100) * sorted.length);
  return sorted[Math.min(Math.max(rank, 1), sorted.length) - 1] ?? Number.NaN;
}

function show(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
