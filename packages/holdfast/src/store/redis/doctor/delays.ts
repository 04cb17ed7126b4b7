/** Measures a server's round trip and clock, and looks for commands that blocked it. */
import { isMissingRight } from '../advice.js';
import { type Probe, Unusable } from './probe.js';

const SAMPLES = 5;
/** Longer round trips than this part of the claim window, or of the ttl, are reported. */
const ROUND_TRIP_PART = 10;
const SLOW_ENTRIES = 128;
const SLOW_SECONDS = 86_400;

/** How far a clock is ahead of this machine's, in ms. */
export interface Offset {
  readonly from: number;
  readonly to: number;
}

export interface Measured {
  readonly roundTrip: number;
  readonly offset: Offset | undefined;
  readonly time: number | undefined;
}

/** Throws `Unusable` if the server does not answer or refuses all commands. */
export async function measure(probe: Probe): Promise<Measured> {
  const { clock } = probe.terms;
  let roundTrip = Number.POSITIVE_INFINITY;
  let offset: Offset | undefined;
  let time: number | undefined;
  for (let at = 0; at < SAMPLES; at++) {
    const [sent, wall] = [clock.now(), clock.wall()];
    const read = await timeOf(probe);
    const took = clock.now() - sent;
    roundTrip = Math.min(roundTrip, took);
    if (read === undefined) continue;
    time = read / 1000;
    // this machine's wall clock is read in whole milliseconds
    offset = {
      from: Math.max(offset?.from ?? Number.NEGATIVE_INFINITY, read - wall - took - 1),
      to: Math.min(offset?.to ?? Number.POSITIVE_INFINITY, read - wall),
    };
  }
  return { roundTrip, offset, time };
}

/** In ms; `undefined` without the right. */
async function timeOf(probe: Probe): Promise<number | undefined> {
  try {
    const answer = (await probe.answer(probe.link.command(['TIME']))) as unknown[];
    return Number(answer[0]) * 1000 + Number(answer[1]) / 1000;
  } catch (error) {
    const reply = probe.refusal(error);
    // the rights are examined later
    if (isMissingRight(reply)) return undefined;
    throw new Unusable(reply);
  }
}

export function judgeRoundTrip(probe: Probe, roundTrip: number): void {
  const { claimWindow, ttl } = probe.terms;
  const { quorum } = probe.deployment;
  const limits: [name: string, ms: number, most: number][] = [
    ['claimWindow', claimWindow, claimWindow / ROUND_TRIP_PART],
    ['ttl', ttl, ttl / ROUND_TRIP_PART],
    ...(quorum === undefined
      ? []
      : [['serverTimeout', quorum.timeout, quorum.timeout / 2] as [string, number, number]]),
  ];
  const over = limits.filter(([, , most]) => roundTrip > most);
  if (over.length === 0) return;
  const names = over.map(([name, ms]) => `${name} ${ms} ms`);
  probe.add({
    code: 'slow-round-trip',
    severity: over.some(([, ms]) => roundTrip > ms / 2) ? 'danger' : 'warning',
    message: 'a round trip takes a large part of the time that a holder has to answer',
    evidence: `the shortest of ${SAMPLES} took ${roundTrip.toFixed(1)} ms; ${names.join(', ')}`,
    advice: `raise ${over.map(([name]) => name).join(' and ')}, or use a server that is nearer`,
  });
}

export async function judgeSlowness(probe: Probe, time: number | undefined): Promise<void> {
  const { claimWindow } = probe.terms;
  const limit = claimWindow / ROUND_TRIP_PART;
  const since = (time ?? 0) - SLOW_SECONDS;
  const what = 'which commands were slow';
  const words = ['SLOWLOG', 'GET', `${SLOW_ENTRIES}`];
  const entries = ((await probe.look(words, '+slowlog|get', what)) ?? []) as unknown[][];
  const slow = entries
    .map(([, at, micros, args]) => ({
      at: Number(at),
      ms: Number(micros) / 1000,
      name: nameOf(args),
    }))
    .filter(({ at, ms }) => ms >= limit && at >= since)
    .sort((a, b) => b.ms - a.ms);
  const events = await eventsOf(probe, limit, since);
  const [worst] = slow;
  if (worst === undefined && events.length === 0) return;
  const seen = [
    ...(worst === undefined ? [] : [`SLOWLOG: ${worst.name} took ${Math.round(worst.ms)} ms`]),
    ...(slow.length > 1 ? [`${slow.length} commands in a day took more than ${limit} ms`] : []),
    ...events.map(({ event, ms }) => `LATENCY: ${event} took ${ms} ms`),
  ];
  const longest = Math.max(worst?.ms ?? 0, ...events.map(({ ms }) => ms));
  probe.add({
    code: 'slow-commands',
    severity: longest >= claimWindow ? 'danger' : 'warning',
    message: 'the server was blocked: no lease was renewed, and no waiter served, for that time',
    evidence: seen.join('; '),
    advice: 'move these commands to another server, or raise claimWindow and ttl',
  });
}

function nameOf(args: unknown): string {
  return Array.isArray(args) && args.length > 0 ? String(args[0]).toUpperCase() : 'a command';
}

interface SlowEvent {
  readonly event: string;
  readonly ms: number;
}

/** Only a server with `latency-monitor-threshold` has any. */
async function eventsOf(probe: Probe, limit: number, since: number): Promise<SlowEvent[]> {
  const what = 'which events blocked the server';
  const raw = await probe.look(['LATENCY', 'LATEST'], '+latency|latest', what);
  return ((raw ?? []) as unknown[][])
    .map(([event, at, , most]) => ({ event: String(event), at: Number(at), ms: Number(most) }))
    .filter(({ at, ms }) => ms >= limit && at >= since);
}
