/** The durations of the demo, and the faults that its tests plant. */

export interface Pace {
  readonly workers: number;
  readonly ttl: number;
  /** Longer than the ttl. */
  readonly work: number;
  /** The ttl of the scenarios in which a lease expires. */
  readonly longTtl: number;
  /** Time to read the introduction of a scenario. */
  readonly readingPause: number;
}

export const NORMAL: Pace = {
  workers: 5,
  ttl: 1000,
  work: 2000,
  longTtl: 2000,
  readingPause: 3000,
};
const QUICK: Pace = { workers: 3, ttl: 1500, work: 1800, longTtl: 1500, readingPause: 0 };

/** Its tests give a busy machine more time. */
export function quick(slower: number): Pace {
  const ms = (time: number): number => Math.ceil(time * slower);
  const { ttl, work, longTtl } = QUICK;
  return { ...QUICK, ttl: ms(ttl), work: ms(work), longTtl: ms(longTtl) };
}

const FAULTS = ['no-lock', 'early-release', 'no-fence'] as const;

/** A fault planted by a test, to show that the demo detects it. */
export type Fault = (typeof FAULTS)[number];

export function faultOf(name: string | undefined): Fault | undefined {
  const fault = FAULTS.find((each) => each === name);
  if (name !== undefined && fault === undefined)
    throw new Error(`unknown fault ${name}; use ${FAULTS.join(', ')}`);
  return fault;
}
