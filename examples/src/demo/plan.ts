/** How long things take in the demo, and which fault it is to find. */

export interface Pace {
  readonly workers: number;
  readonly ttl: number;
  /** Longer than the ttl. */
  readonly work: number;
  /** The ttl where a lease is to run out before the eyes of the audience. */
  readonly longTtl: number;
  /** Time to read before an act. */
  readonly breath: number;
}

export const NORMAL: Pace = { workers: 5, ttl: 1000, work: 2000, longTtl: 2000, breath: 3000 };
export const QUICK: Pace = { workers: 3, ttl: 1500, work: 1800, longTtl: 1500, breath: 0 };

const FAULTS = ['no-lock', 'early-release', 'no-fence'] as const;

/** Something that is broken on purpose, so that a test sees the demo notice. */
export type Fault = (typeof FAULTS)[number];

export function faultOf(name: string | undefined): Fault | undefined {
  const fault = FAULTS.find((each) => each === name);
  if (name !== undefined && fault === undefined) throw new Error(`no such fault: ${name}`);
  return fault;
}
