/**
 * Measuring on a shared machine: the contenders are measured alternately, each once in a round, and
 * compared only within a round. A fixed calibration loop runs before each measurement. A round is
 * noisy, and not counted, if its calibration took longer than 1.25 times the median of all rounds.
 */
import { calibrate } from './machine.js';
import {
  type Figure,
  type FigureName,
  type Round,
  type Row,
  type State,
  UNITS,
} from './results.js';
import { ratios, spread } from './spread.js';
import type { Variant } from './variants.js';

const NOISY = 1.25;
/** With fewer quiet rounds than this, all rounds are counted. */
const LEAST_QUIET = 2;

/** What one measurement gives. */
export interface Reading {
  readonly figures: Partial<Record<FigureName, number>>;
  readonly tasks?: readonly number[];
  readonly violations?: number;
  readonly fence?: boolean;
  readonly latencies?: readonly number[];
}

export interface Contender {
  readonly variant: Variant;
  readonly at?: number;
  /** The name of the contender to which this one is compared, at the same size. */
  readonly against?: string;
  /** Starts what the measurement needs, before the first round. */
  start?(): Promise<void>;
  measure(warmUp: boolean): Promise<Reading>;
  close?(): Promise<void>;
}

interface Entry {
  readonly contender: Contender;
  readonly readings: Reading[];
  warmUp: Reading | undefined;
  failure: string | undefined;
}

/** The rounds and the rows of a table. */
export interface Measured {
  readonly rounds: Round[];
  readonly rows: Row[];
}

/**
 * The order is reversed in every second round, so that no contender is always first. An extra first
 * round is the warm-up; commands are counted in it. A contender that fails is left out from then.
 */
export async function inTurns(
  contenders: readonly Contender[],
  rounds: number,
  main: FigureName,
  calibration: () => number = calibrate,
): Promise<Measured> {
  const entries: Entry[] = contenders.map((contender) => ({
    ...{ contender, readings: [], warmUp: undefined, failure: undefined },
  }));
  try {
    for (const entry of entries) await attempt(entry, async () => entry.contender.start?.());
    const calibrations: number[] = [];
    for (let round = 0; round <= rounds; round++) {
      const median = await oneRound(round, entries, calibration);
      if (round > 0) calibrations.push(median);
    }
    const judged = judge(calibrations);
    const kept = judged.map(({ noisy }) => !noisy);
    const rows = entries.map((entry) => toRow(entry, entries, main, kept));
    return { rounds: judged, rows };
  } finally {
    await Promise.all(contenders.map(async (contender) => contender.close?.()));
  }
}

async function oneRound(
  round: number,
  entries: readonly Entry[],
  calibration: () => number,
): Promise<number> {
  const readings: number[] = [];
  for (const entry of round % 2 === 0 ? entries : entries.toReversed()) {
    if (entry.failure !== undefined) continue;
    readings.push(calibration());
    await attempt(entry, async () => {
      const reading = await entry.contender.measure(round === 0);
      if (round === 0) entry.warmUp = reading;
      else entry.readings.push(reading);
    });
  }
  readings.push(calibration());
  return spread(readings).median;
}

async function attempt(entry: Entry, act: () => Promise<void>): Promise<void> {
  if (entry.failure !== undefined) return;
  try {
    await act();
  } catch (error) {
    entry.failure = error instanceof Error ? error.message : String(error);
    await entry.contender.close?.();
  }
}

/** Marks the noisy rounds. */
export function judge(calibrations: readonly number[]): Round[] {
  const limit = NOISY * spread(calibrations).median;
  const quiet = calibrations.filter((calibration) => calibration <= limit).length;
  return calibrations.map((calibration) => ({
    calibration,
    noisy: quiet >= LEAST_QUIET && calibration > limit,
  }));
}

function figure(name: FigureName, values: readonly number[], kept: readonly boolean[]): Figure {
  const counted = values.filter((_, index) => kept[index] === true);
  return { unit: UNITS[name], ...spread(counted), rounds: values };
}

/** Commands and connections are those of the warm-up round, in which they are counted. */
const OF_WARM_UP: readonly FigureName[] = ['commands', 'inner calls', 'connections'];

function toRow(
  { contender, readings, warmUp, failure }: Entry,
  entries: readonly Entry[],
  main: FigureName,
  kept: readonly boolean[],
): Row {
  const { variant, at, against } = contender;
  const all = warmUp === undefined ? readings : [warmUp, ...readings];
  const violations = all.reduce((sum, reading) => sum + (reading.violations ?? 0), 0);
  const names = Object.keys(readings[0]?.figures ?? {}) as FigureName[];
  const figures: Partial<Record<FigureName, Figure>> = {};
  for (const name of names) {
    if (OF_WARM_UP.includes(name)) continue;
    figures[name] = figure(name, series(readings, name), kept);
  }
  for (const name of OF_WARM_UP) {
    const value = warmUp?.figures[name];
    if (value !== undefined) figures[name] = figure(name, [value], [true]);
  }
  const reference = entries.find(
    ({ contender: other }) => other.variant.name === against && other.at === at,
  );
  const state: State =
    violations > 0 ? 'violates exclusion' : failure === undefined ? 'ok' : 'failed';
  return {
    variant,
    ...(at === undefined ? {} : { at }),
    state,
    ...(failure === undefined ? {} : { note: failure.slice(0, 300) }),
    figures,
    ...(reference === undefined || readings.length === 0
      ? {}
      : { against: compare(reference, readings, main, kept) }),
    ...tasksOf(readings.filter((_, index) => kept[index] === true)),
    ...(readings[0]?.violations === undefined ? {} : { violations }),
    ...(readings[0]?.fence === undefined ? {} : { fence: readings[0].fence }),
    ...distribution(readings.flatMap((reading) => reading.latencies ?? [])),
  };
}

const series = (readings: readonly Reading[], name: FigureName): number[] =>
  readings.map(({ figures }) => figures[name] ?? Number.NaN);

function compare(
  { contender, readings }: Entry,
  ours: readonly Reading[],
  main: FigureName,
  kept: readonly boolean[],
): NonNullable<Row['against']> {
  const values = ratios(series(ours, main), series(readings, main));
  return { name: contender.variant.name, ratio: { ...figure(main, values, kept), unit: '' } };
}

function tasksOf(readings: readonly Reading[]): Pick<Row, 'tasks'> {
  const [first] = readings;
  if (first?.tasks === undefined || first.tasks.length < 2) return {};
  const sums = first.tasks.map((_, task) =>
    readings.reduce((sum, reading) => sum + (reading.tasks?.[task] ?? 0), 0),
  );
  const mean = sums.reduce((sum, one) => sum + one, 0) / sums.length;
  return { tasks: { fewest: Math.min(...sums), most: Math.max(...sums), mean } };
}

/** Limits of the distribution in ms: eight for each doubling, from 1 µs to a minute. */
const LIMITS = Array.from({ length: 208 }, (_, index) => 0.001 * 2 ** (index / 8));

function distribution(latencies: readonly number[]): Pick<Row, 'latencies'> {
  if (latencies.length === 0) return {};
  const sorted = Float64Array.from(latencies).sort();
  const steps: [number, number][] = [];
  let below = 0;
  for (const limit of LIMITS) {
    while (below < sorted.length && (sorted[below] as number) <= limit) below += 1;
    const share = below / sorted.length;
    if (share > 0 && share !== steps.at(-1)?.[1]) steps.push([Number(limit.toPrecision(4)), share]);
  }
  return { latencies: steps };
}
