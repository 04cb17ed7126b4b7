/** A trial tests one claim of the README at full size. */
// Trials run beside each other, and each loads its client: the load of one would stop the others.
import 'ioredis';
import 'ioredis-5';
import 'redis';
import 'redis-5';
import type { ServerName } from 'holdfast-testkit';
import type { ClientName } from './support/clients.js';
import type { Primitive } from './support/locks.js';

/** The size of a trial. Each trial uses the fields that apply to it. */
export interface Size {
  /** The number of repetitions. */
  readonly trials: number;
  /** The duration. */
  readonly seconds: number;
  /** The number of processes. */
  readonly processes: number;
  /** The number of tasks in each process. */
  readonly tasks: number;
  /** The number of other objects: keys, holders. */
  readonly others: number;
}

export interface Parameters extends Size {
  readonly server: ServerName;
  readonly client: ClientName;
  /** The kind of lock, for trials that support several. */
  readonly primitive: Primitive;
  /** Only kinds of rounds whose name contains this text. */
  readonly kind: string;
  /** The seed of all random numbers. */
  readonly seed: number;
  /** The planted fault; the trial must find it. */
  readonly fault: string | undefined;
}

export interface Verdict {
  readonly passed: boolean;
  readonly figures: Readonly<Record<string, number | string>>;
  /** The first problems of each kind. */
  readonly problems: readonly string[];
}

export interface Trial {
  readonly name: string;
  /** One sentence. */
  readonly claim: string;
  /** The size for the claim. */
  readonly full: Partial<Size>;
  /** The size in the test suite. */
  readonly share: Partial<Size>;
  /** Faults that can be planted. With each of them, the trial must fail. */
  readonly faults: readonly string[];
  run(parameters: Parameters): Promise<Verdict>;
}

const NOTHING: Size = { trials: 0, seconds: 0, processes: 1, tasks: 1, others: 0 };

/** Completes the parameters of a run. */
export function parameters(
  size: Partial<Size>,
  given: Partial<Parameters> & Pick<Parameters, 'server' | 'client'>,
): Parameters {
  return { seed: 1, fault: undefined, kind: '', primitive: 'mutex', ...NOTHING, ...size, ...given };
}

/** Creates a verdict: passed if there are no problems. */
export function verdict(figures: Verdict['figures'], problems: readonly string[]): Verdict {
  return { passed: problems.length === 0, figures, problems };
}
