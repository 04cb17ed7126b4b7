/** The limits that the figures of a scenario must respect. */
import type { FigureName, Row, Target } from './results.js';
import type { Measured } from './rounds.js';
import { ratios, spread } from './spread.js';

interface Limits {
  readonly least?: number;
  readonly most?: number;
}

export function target(what: string, value: number, limits: Limits): Target {
  const { least = -Infinity, most = Infinity } = limits;
  return { what, value, ...limits, met: value >= least && value <= most };
}

const named = ({ rows }: Measured, name: string, at?: number): Row | undefined =>
  rows.find((row) => row.variant.name === name && row.at === at);

/** The ratio of a row to its reference. */
export function ratioTarget(
  measured: Measured,
  name: string,
  limits: Limits,
  at?: number,
): Target[] {
  const row = named(measured, name, at);
  if (row === undefined) return [];
  const { against } = row;
  return [
    target(`${name}, of ${against?.name ?? '?'}`, against?.ratio.median ?? Number.NaN, limits),
  ];
}

/** A figure of a row. */
export function figureTarget(
  measured: Measured,
  name: string,
  figure: FigureName,
  limits: Limits,
  at?: number,
): Target[] {
  const row = named(measured, name, at);
  if (row === undefined) return [];
  const what = `${name}${at === undefined ? '' : ` at ${at}`}: ${figure}`;
  return [target(what, row.figures[figure]?.median ?? Number.NaN, limits)];
}

/**
 * The least of all rounds, for a time in the server: it contains the time in which the server's
 * process did not run.
 */
export function leastTarget(
  { rows }: Measured,
  name: string,
  figure: FigureName,
  limits: Limits,
): Target[] {
  const row = rows.find(({ variant }) => variant.name === name);
  if (row === undefined) return [];
  const value = row.figures[figure]?.min ?? Number.NaN;
  return [target(`${name}: ${figure}, least of the rounds`, value, limits)];
}

/** Every task got between half of the mean and twice the mean. */
export function isEven({ tasks }: Row): boolean {
  return tasks !== undefined && tasks.fewest >= tasks.mean / 2 && tasks.most <= tasks.mean * 2;
}

export function evenTarget(measured: Measured, name: string): Target[] {
  const row = named(measured, name);
  if (row?.tasks === undefined) return [];
  const { fewest, most, mean } = row.tasks;
  const worst = Math.max(mean / fewest, most / mean);
  return [target(`${name}: the worst task, as a factor of the mean`, worst, { most: 2 })];
}

/** The rate of a row, divided by that of the fastest sound peer, round by round. */
export function peerTarget(
  measured: Measured,
  name: string,
  limits: Limits,
  { even }: { even: boolean },
): Target[] {
  const sound = measured.rows.filter(
    (row) => row.variant.kind === 'peer' && row.state === 'ok' && (!even || isEven(row)),
  );
  const rate = (row: Row): number => row.figures.rate?.median ?? 0;
  const [best] = sound.toSorted((a, b) => rate(b) - rate(a));
  const what = `${name}, of the best ${even ? 'even ' : ''}peer`;
  return best === undefined
    ? []
    : rateTarget(measured, name, best.variant.name, limits, `${what} (${best.variant.name})`);
}

export function rateTarget(
  measured: Measured,
  name: string,
  other: string,
  limits: Limits,
  what = `${name}, of ${other}`,
): Target[] {
  const [above, below] = [named(measured, name), named(measured, other)];
  const [ours, theirs] = [above?.figures.rate?.rounds, below?.figures.rate?.rounds];
  if (ours === undefined || theirs === undefined) return [];
  const all = ratios(ours, theirs);
  const counted = all.filter((_, index) => measured.rounds[index]?.noisy === false);
  return [target(what, spread(counted).median, limits)];
}
