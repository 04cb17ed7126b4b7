/** Events and attempts as text. */
import type { Attempt } from './attempts.js';
import type { HistoryEvent } from './format.js';

/** One event as a line of the file. */
export function eventLine(event: HistoryEvent): string {
  return JSON.stringify(event);
}

/** One attempt with its events in one line. */
export function describe(attempt: Attempt): string {
  const { ask, grant, believedT, ticket, state, outcome, endT } = attempt;
  const parts = [`${ask.p} ${ask.a} on ${ask.k}, ${ask.weight} of ${ask.capacity}:`];
  parts.push(`ask ${time(ask.t)}${ask.fair ? ' fair' : ''}`);
  if (ticket !== 0) parts.push(`ticket ${ticket}`);
  if (grant !== undefined) parts.push(`grant ${time(grant.t)} fence ${grant.fence} id ${grant.id}`);
  if (Number.isFinite(believedT)) parts.push(`believed to ${time(believedT)}`);
  if (attempt.releaseAt >= 0) parts.push(`release ${time(attempt.releaseT)}`);
  if (Number.isNaN(endT)) parts.push(`still ${state}`);
  else parts.push(`${state} ${time(endT)}${outcome === null ? '' : ` ${outcome}`}`);
  return parts.join(' ');
}

/** A time in ms, rounded to three digits. */
export function time(t: number): string {
  return String(Math.round(t * 1000) / 1000);
}
