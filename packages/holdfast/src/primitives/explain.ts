/**
 * Adds to the error of a wait that ran out the holder and the place in the queue. Waits for one key
 * share one question.
 */
import { atCaller, type Place, placeOf } from '../acquire/failures.js';
import type { Core } from '../acquire/core.js';
import type { InspectReply } from '../engine/commands.js';
import { party } from './inspection.js';
import { quote } from '../base/text.js';

/** By how much, in ms, the question may delay the error. */
const LIMIT = 200;
/** The most keys that are asked for at a time. */
const KEYS_MAX = 100;
const SHOWN = 20;

const asked = new WeakMap<Core, Map<string, Promise<InspectReply | undefined>>>();

export async function explained(core: Core, key: string, error: unknown): Promise<unknown> {
  const place = placeOf(error);
  if (place === undefined) return atCaller(error);
  const { holder } = place;
  if (holder !== undefined) {
    const age = core.clock.now() - holder.grantedAt;
    return atCaller(error, local(holder.terms.label, age, `; place ${place.before + 1} in it`));
  }
  return atCaller(error, describe(core, place, await question(core, key)));
}

function question(core: Core, key: string): Promise<InspectReply | undefined> {
  const all = asked.get(core) ?? new Map<string, Promise<InspectReply | undefined>>();
  asked.set(core, all);
  let answer = all.get(key);
  if (answer === undefined) {
    if (all.size >= KEYS_MAX || core.requests.waits) return Promise.resolve(undefined);
    answer = core.requests
      .send({ op: 'inspect', key, limit: SHOWN }, undefined, LIMIT)
      .catch(() => undefined)
      .finally(() => all.delete(key));
    all.set(key, answer);
  }
  return answer;
}

function describe(core: Core, place: Place, state: InspectReply | undefined): string {
  const [oldest] = [...(state?.holders ?? [])].sort((a, b) => a.since - b.since);
  if (state === undefined || oldest === undefined) return '';
  const { holderCount, now, waiters } = state;
  const { label, host, pid } = party(oldest);
  const ahead = waiters.filter(({ ticket }) => ticket < place.ticket);
  const before = ahead.reduce((sum, { tasks }) => sum + Math.max(1, tasks), place.before);
  const more = holderCount > 1 ? ` and ${holderCount - 1} more` : '';
  const rest = ahead.length < SHOWN ? `${more}; place ${before + 1} in the queue` : more;
  const age = (now - oldest.since) / 1000;
  if (oldest.id.startsWith(`${core.id}.`)) return local(label, age, rest);
  return held(label, `process ${pid} on ${quote(host ?? '')}`, age, rest);
}

function local(label: string | undefined, age: number, rest: string): string {
  const advice = '; if the code that holds it awaits this call, it waits for itself';
  return held(label, 'this process', age, rest + advice);
}

function held(label: string | undefined, by: string, age: number, rest: string): string {
  const holder = label ? `${quote(label)} (${by})` : by;
  return `; held by ${holder} for ${(age / 1000).toFixed(1)} s${rest}`;
}
