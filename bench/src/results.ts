/** The result of a run, as it is written to JSON, see `verification/numbers.md`. */
import type { Machine } from './machine.js';
import type { ScenarioId } from './settings.js';
import type { Spread } from './spread.js';
import type { Variant } from './variants.js';

/** The unit of each figure, by its name. */
export const UNITS = {
  rate: '/s',
  'node cpu': 'µs',
  'server cpu': 'µs',
  'script time': 'µs',
  'script calls': '',
  commands: '',
  calls: '',
  'inner calls': '',
  connections: '',
  'longest wait': 'ms',
  'hand-off p50': 'ms',
  'hand-off p99': 'ms',
  'take-over p50': 'ms',
  'take-over p99': 'ms',
  void: '',
  'first tenth': '/s',
  'last tenth': '/s',
  'last to first': '',
  'key bytes': 'B',
  'server bytes': 'B',
  'node bytes': 'B',
  release: 'µs',
  lost: '',
  renewals: '',
} as const;
export type FigureName = keyof typeof UNITS;

/** A figure over the kept rounds. */
export interface Figure extends Spread {
  readonly unit: string;
  /** One value for each counted round, noisy rounds included. */
  readonly rounds: readonly number[];
}

/** How a variant ended. */
export type State = 'ok' | 'failed' | 'violates exclusion';

/** One variant in one scenario. */
export interface Row {
  readonly variant: Variant;
  /** The size of this row, in a scenario that measures several: number of keys, waiters, … */
  readonly at?: number;
  readonly state: State;
  /** The reason of a failure. */
  readonly note?: string;
  readonly figures: Readonly<Partial<Record<FigureName, Figure>>>;
  /** The main figure divided by that of the named row, round by round. */
  readonly against?: { readonly name: string; readonly ratio: Figure };
  /** Acquisitions by task, over all kept rounds. */
  readonly tasks?: { readonly fewest: number; readonly most: number; readonly mean: number };
  /** Acquisitions while another holder had the lock. */
  readonly violations?: number;
  /** Whether grants are numbered. */
  readonly fence?: boolean;
  /** Shares of the latencies up to each limit in ms: a cumulative distribution. */
  readonly latencies?: readonly (readonly [ms: number, share: number])[];
}

export interface Round {
  /** Ms of the calibration loop: the median of the readings in this round. */
  readonly calibration: number;
  readonly noisy: boolean;
}

/** A limit of a ratio or a figure. */
export interface Target {
  readonly what: string;
  readonly value: number;
  readonly least?: number;
  readonly most?: number;
  readonly met: boolean;
}

export interface Table {
  readonly scenario: ScenarioId;
  readonly title: string;
  /** The figure of the ratios. */
  readonly main: FigureName;
  /** Where server and workers ran. */
  readonly placement: string;
  readonly rounds: readonly Round[];
  readonly rows: readonly Row[];
  readonly targets: readonly Target[];
}

export interface Result {
  readonly format: 2;
  readonly date: string;
  readonly command: string;
  readonly machine: Machine;
  readonly server: { readonly name: string; readonly version: string };
  readonly peers: Readonly<Record<string, string>>;
  /** The load average before and after. */
  readonly load: { readonly before: number; readonly after: number };
  readonly settings: object;
  readonly tables: readonly Table[];
}
