/**
 * From when on a server without memory votes ([decision
 * 13](../../../../../docs/decisions/0013-quorum.md)).
 *
 * Each value is accepted by a majority. So a majority of the others, or all of them while at most n
 * of 2n + 1 have forgotten, contains one that took part and knows for how long that matters. Only a
 * server that votes counts, and only a whole one for long records.
 *
 *     others                                     the server
 *     none ever accepted a value, all answer     votes `guard` ms after its boot
 *     none did, a majority answers               votes `LONG_MS` after its marker, and is partial
 *     a majority is whole, or all answer         votes when their records have ended
 *     a majority votes                           the same, and is partial
 *     else                                       does not vote
 *
 * Their records are read some time after it fell silent: a value that it accepted last may be on
 * its way to them.
 */
import type { Micros } from '../../engine/commands.js';
import {
  type Decision,
  LONG_MAX,
  LONG_MS,
  type LongRecord,
  PROMISE_MS,
  type ServerStatus,
} from './acceptor.js';

/** A first use may be so young, in µs. */
const FIRST_USE: Micros = 10_000_000;
/** A request is on its way for less, in ms. */
export const REQUEST_MS = 5000;

/** Times in ms. */
export interface Forgotten {
  readonly status: ServerStatus;
  readonly running: number;
  /** Since a process saw it without memory. */
  readonly marked: number;
  /** The same, of this process and by its clock. */
  readonly seen: number;
}

export interface RestartTerms {
  readonly majority: number;
  readonly others: number;
  readonly guard: number;
  /** Bounds of the time of the quorum. */
  readonly now: Micros;
  readonly latest: Micros;
}

/** A decision; or ms until one may be made, `undefined`: it depends on the others. */
export type Verdict =
  | { readonly decision: Decision }
  | { readonly decision?: undefined; readonly left: number | undefined };

export function verdictOf(
  { status, running, marked, seen }: Forgotten,
  answers: readonly ServerStatus[],
  { majority, others, guard, now, latest }: RestartTerms,
): Verdict {
  const { boot } = status;
  const mark = Math.max(0, ...answers.map((one) => one.mark));
  const voters = answers.filter(({ votesFrom }) => votesFrom !== undefined && votesFrom <= now);
  const whole = voters.filter((one) => !one.partial).length;
  const partial = whole < majority && answers.length < others;
  if (status.partial) {
    const long = longest(answers, now);
    if (partial || long.length > LONG_MAX) return { left: undefined };
    return { decision: { boot, from: now, long, mark, partial } };
  }
  if (!answers.some((one) => remembers(one))) {
    if (answers.length + 1 < majority) return { left: undefined };
    const isFirst = !partial && !answers.some((one) => isInUse(one));
    const known = isFirst ? running : Math.min(running, marked);
    const left = (partial ? Math.max(guard, LONG_MS) : guard) - known;
    return left > 0 ? { left } : { decision: { boot, from: 0, long: [], mark, partial } };
  }
  if (voters.length < majority && partial) return { left: undefined };
  const wait = voters.length < majority ? Math.max(PROMISE_MS, guard) : PROMISE_MS;
  const kept = Math.max(...answers.map(({ keeps }) => keeps));
  // processes may end soon; a clock may be set by a minute
  const silent = Math.max(seen, marked - PROMISE_MS);
  if (silent < REQUEST_MS) {
    return { left: REQUEST_MS - silent + Math.max(wait, (kept - now) / 1000) };
  }
  const from = Math.max(latest + wait * 1000, kept);
  const long = longest(answers, from);
  const mostly = { boot, mark, from, long, partial };
  if (long.length <= LONG_MAX) return { decision: mostly };
  const last = Math.max(...long.map(([, until]) => until));
  return { decision: { ...mostly, from: last, long: [] } };
}

/** True if it has accepted values. */
function remembers({ keeps, long }: ServerStatus): boolean {
  return keeps > 0 || long.length > 0;
}

function isInUse({ votesFrom, markedAt, time }: ServerStatus): boolean {
  return votesFrom !== undefined && markedAt !== undefined && time - markedAt > FIRST_USE;
}

function longest(answers: readonly ServerStatus[], from: Micros): LongRecord[] {
  const ends = new Map<string, Micros>();
  for (const { long } of answers) {
    for (const [key, until] of long) {
      if (until > from) ends.set(key, Math.max(until, ends.get(key) ?? 0));
    }
  }
  return [...ends];
}
