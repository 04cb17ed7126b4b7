/** What a trial is: one claim of the README, put to the test at the size that it is made for. */
import type { ServerName } from 'holdfast-testkit';
import type { ClientName } from './support/clients.js';
import type { Primitive } from './support/locks.js';

/** How big a trial is. Each trial uses what means something to it. */
export interface Size {
  /** How often the thing is tried. */
  readonly trials: number;
  /** How long it goes on. */
  readonly seconds: number;
  /** Processes that take part. */
  readonly processes: number;
  /** Tasks in each of them. */
  readonly tasks: number;
  /** What is there besides: keys, waiters. */
  readonly others: number;
}

export interface Parameters extends Size {
  readonly server: ServerName;
  readonly client: ClientName;
  /** Which lock it is about, where the trial leaves the choice. */
  readonly primitive: Primitive;
  /** Where everything random begins. */
  readonly seed: number;
  /** The fault that is planted on purpose; the trial must find it. */
  readonly fault: string | undefined;
}

export interface Verdict {
  readonly passed: boolean;
  readonly figures: Readonly<Record<string, number | string>>;
  /** What was found; the first of each kind is enough. */
  readonly problems: readonly string[];
}

export interface Trial {
  readonly name: string;
  /** One sentence. */
  readonly claim: string;
  /** The size of the claim. */
  readonly full: Partial<Size>;
  /** The size that the test suite has time for. */
  readonly share: Partial<Size>;
  /** Faults that can be planted, each of which must make the verdict negative. */
  readonly faults: readonly string[];
  run(parameters: Parameters): Promise<Verdict>;
}

const NOTHING: Size = { trials: 0, seconds: 0, processes: 1, tasks: 1, others: 0 };

/** Completes the parameters of a run. */
export function parameters(
  size: Partial<Size>,
  given: Partial<Parameters> & Pick<Parameters, 'server' | 'client'>,
): Parameters {
  return { seed: 1, fault: undefined, primitive: 'mutex', ...NOTHING, ...size, ...given };
}

/** The verdict that follows from what was found. */
export function verdict(figures: Verdict['figures'], problems: readonly string[]): Verdict {
  return { passed: problems.length === 0, figures, problems };
}
