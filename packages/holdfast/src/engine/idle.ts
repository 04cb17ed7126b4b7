/**
 * How often idle waiters ask ([decision
 * 4](../../../../docs/decisions/0004-dead-and-frozen-waiters.md)).
 *
 *     asks in each period --a poll far from the head--> may pause --its own poll--> as before
 *                ^--------a command asks it (push)-------/
 *
 * The reply to a poll allows a pause, longer far from the head, at most `PERIODS_MAX` periods: n
 * processes send about 19 + n / 16 polls in a period. The store adds it to the allowed silence. It
 * needs `PROCESSES` other processes among the first `FRONT` waiters, which notice lost grants and
 * ended leases. They are counted once in an interval of `SAME` periods. In it, a process gets the
 * same pause again without a look at its place, if nothing was granted since its last command.
 *
 * A command asks paused processes to poll at once:
 *
 * - the next `NEXT` waiters, when it grants to a paused process: the queue moves fast;
 * - the first `FIRST` waiters, when a lease ended unclaimed: others may be frozen too. One that
 *   does not answer within two claim windows is silent, as in `processes.ts`.
 */
import type { Micros } from './commands.js';
import type { Holder, Waiter } from './entries.js';
import { processOf, type Times } from './processes.js';
import type { Resource } from './resource.js';
import type { CommandContext } from './serve.js';

/** The polls of all parked waiters in a period, while no pause is the longest. */
const PARKED_POLLS = 64;
/** As at a gate: no other waiter depends on the polls of a parked one. */
const PARKED_PERIODS_MAX = 20;
/** So many places get one period more; the first ones get none. */
const PLACES = 8;
const PERIODS_MAX = 16;
const PROCESSES = 8;
const FRONT = 64;
const NEXT = 8;
const FIRST = 128;
const ANSWER_WINDOWS = 2;
const SAME = 64;

/** The times are those of its last command. */
export function pauseOf(
  { queue }: Resource,
  id: string,
  { heard, paused }: Pick<Times, 'heard' | 'paused'>,
  now: Micros,
  period: number,
): number {
  const rank = queue.rank(id);
  if (rank < PROCESSES) return 0;
  if (paused === 0 || !inSame(heard, now, period)) {
    const others = new Set(queue.first(Math.min(rank, FRONT)).map(processOf));
    others.delete(processOf(id));
    if (others.size < PROCESSES) return 0;
  }
  // a newcomer's place is not looked up
  const before = paused === 0 && rank >= FRONT ? Number.POSITIVE_INFINITY : rank;
  return Math.min(PERIODS_MAX, 1 + Math.floor(before / PLACES)) * period;
}

function inSame(heard: Micros, now: Micros, period: number): boolean {
  const interval = SAME * period * 1000;
  return Math.floor(heard / interval) === Math.floor(now / interval);
}

/** 0 if its place must be looked up. */
export function pauseAgain(
  { holders }: Resource,
  { heard, paused }: Pick<Times, 'heard' | 'paused'>,
  now: Micros,
  period: number,
): number {
  const [only] = holders.values();
  if (holders.size !== 1 || (only as Holder).since >= heard) return 0;
  if (!inSame(heard, now, period)) return 0;
  const pause = Math.floor((paused - heard) / 1000);
  return pause < period || pause > PERIODS_MAX * period ? 0 : pause;
}

export function parkedPause(
  parked: number,
  own: number,
  period: number,
  retention: number,
): number {
  const share = Math.floor(parked / (PARKED_POLLS * own));
  // its entry is renewed by the second poll after half of the retention
  const longest = Math.floor((3 * retention) / (8 * period));
  return Math.min(PARKED_PERIODS_MAX, share, longest) * period;
}

export function askPaused(resource: Resource, context: CommandContext): void {
  const { processes, queue, waiters } = resource;
  const count = processes.lapsed ? FIRST : context.pausedGrant ? NEXT : 0;
  if (count === 0) return;
  processes.lapsed = false;
  context.pausedGrant = false;
  for (const [place, id] of queue.first(count).entries()) {
    const { claim, channel } = waiters.get(id) as Waiter;
    const answerBy = context.now + ANSWER_WINDOWS * claim * 1000;
    if (channel === '' || !processes.ask(id, answerBy, place < NEXT)) continue;
    if (context.receivers(channel) === 0) continue;
    context.pushes.push({ channel, push: { kind: 'ask', id } });
  }
}
