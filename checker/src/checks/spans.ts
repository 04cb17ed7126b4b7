/**
 * For how long each lease of a key was believed in, and whether that ever was more than fits.
 *
 * Spans are collected as their attempts settle, and judged in batches: at a moment when nothing is
 * open on the key, or when many have gathered, those that no open attempt can still touch. What can
 * matter no more is dropped.
 *
 * A point is judged where a span starts, because a sum of weights has its peaks there. Leases of
 * one owner with one fence are one lease. All of them counted when the latest was granted, so the
 * limit is what there was then: see `Capacities`.
 */
import type { Attempt } from '../attempts.js';
import { Capacities } from '../capacities.js';
import type { Check, CheckName, Context, Observer } from '../judge.js';
import type { Pardon } from '../pardons.js';

/** Where spans of a key were collected, a batch is judged at this size at the latest. */
const BATCH_MIN = 1024;

export interface Span {
  readonly attempt: Attempt;
  /** Positions in the history: both belong to it. */
  from: number;
  to: number;
  judged: boolean;
}

interface OnKey {
  spans: Span[];
  threshold: number;
}

export interface SpanRules {
  readonly check: CheckName;
  /** Where the span of a granted attempt starts. At or before the position of its grant. */
  start(attempt: Attempt): number;
  /** Called for each event, before the spans of attempts that it settles are collected. */
  see?: Observer['see'];
  /** What is said of an overfull point. */
  what(total: number, limit: number, key: string): string;
  /** Whether an overfull point is this check's concern. */
  concerns(spans: readonly Span[]): boolean;
}

/** A check of spans. */
export function spanCheck(rules: (context: Context) => SpanRules): Check {
  return (context) => new Spans(context, rules(context));
}

class Spans implements Observer {
  readonly #context: Context;
  readonly #rules: SpanRules;
  readonly #keys = new Map<string, OnKey>();
  readonly #capacities = new Capacities();

  constructor(context: Context, rules: SpanRules) {
    this.#context = context;
    this.#rules = rules;
  }

  see(...[event, at, attempt]: Parameters<NonNullable<Observer['see']>>): void {
    this.#rules.see?.(event, at, attempt);
    this.#capacities.see(event, at);
  }

  settled(attempt: Attempt): void {
    // granted, and seen then to be over already
    if (attempt.believedAt < 0) return;
    const key = this.#key(attempt.key);
    const from = this.#rules.start(attempt);
    // what started behind others may make them overfull after all
    if (from < attempt.grantAt) {
      for (const span of key.spans) if (span.from >= from) span.judged = false;
    }
    key.spans.push({ attempt, from, to: attempt.believedAt, judged: false });
    const { held } = this.#context.attempts.onKey(attempt.key);
    const isQuiet = held.size === 0;
    if (isQuiet || key.spans.length >= key.threshold) this.#judge(attempt.key, key, isQuiet);
  }

  finish(): void {
    for (const [name, key] of this.#keys) this.#judgeUntil(name, key, Number.POSITIVE_INFINITY);
  }

  #key(name: string): OnKey {
    let key = this.#keys.get(name);
    if (key === undefined) {
      key = { spans: [], threshold: BATCH_MIN };
      this.#keys.set(name, key);
    }
    return key;
  }

  #judge(name: string, key: OnKey, isQuiet: boolean): void {
    const { asked, held } = this.#context.attempts.onKey(name);
    // a batch of a few is cheaper with others, unless the key is not used any more
    if (isQuiet && key.spans.length < BATCH_MIN && asked.size > 0) return;
    let known = Number.POSITIVE_INFINITY;
    for (const { believedAt } of held) known = Math.min(known, believedAt);
    this.#judgeUntil(name, key, known);
  }

  /** @param known up to where nothing can change any more */
  #judgeUntil(name: string, key: OnKey, known: number): void {
    const { asked } = this.#context.attempts.onKey(name);
    const active = new Set<Span>();
    const starts = key.spans.sort((one, other) => one.from - other.from);
    const ends = [...starts].sort((one, other) => one.to - other.to);
    let ended = 0;
    for (const span of starts) {
      for (; (ends[ended] as Span).to < span.from; ended++) active.delete(ends[ended] as Span);
      active.add(span);
      if (span.judged || span.from > known) continue;
      span.judged = true;
      if (active.size > 1 || span.attempt.ask.weight > span.attempt.ask.capacity) {
        this.#point(name, span, [...active]);
      }
    }
    const oldest = asked.values().next().value?.askAt ?? Number.POSITIVE_INFINITY;
    key.spans = starts.filter(({ to, judged }) => !judged || to >= Math.min(oldest, known));
    key.threshold = Math.max(BATCH_MIN, 2 * key.spans.length);
    if (key.spans.length === 0) this.#keys.delete(name);
  }

  #point(name: string, span: Span, active: Span[]): void {
    const limit = this.#limit(name, active);
    const total = weightOf(active);
    if (total <= limit || !this.#rules.concerns(active)) return;
    const t = span.attempt.grant?.t ?? 0;
    const point = { at: span.from, t, fence: latest(active).fence };
    const pardons = new Set<Pardon>();
    const promised = active.filter(({ attempt }) => {
      const pardon = this.#context.pardon(attempt, point);
      if (pardon !== undefined) pardons.add(pardon);
      return pardon === undefined;
    });
    const isExcused = weightOf(promised) <= limit;
    this.#context.report({
      check: this.#rules.check,
      t,
      what: this.#rules.what(total, limit, name),
      concerned: active.slice(-8).map(({ attempt }) => attempt),
      excused: isExcused ? pardons.values().next().value : undefined,
    });
  }

  /**
   * The most that fits: what the latest of them asked for, or what the capacity may have been
   * changed to when it was granted. All others were granted before, and had not ended.
   */
  #limit(name: string, active: readonly Span[]): number {
    const { ask, askAt, grantAt } = latest(active);
    return Math.max(ask.capacity, this.#capacities.most(name, askAt, grantAt));
  }
}

/** The attempt that the store granted last. */
function latest(active: readonly Span[]): Attempt {
  let found = (active[0] as Span).attempt;
  for (const { attempt } of active) if (attempt.fence > found.fence) found = attempt;
  return found;
}

/** Holds of one owner's lease weigh as much as the heaviest. */
function weightOf(spans: readonly Span[]): number {
  const shared = new Map<string, number>();
  let total = 0;
  for (const { attempt } of spans) {
    const { owner, weight } = attempt.ask;
    if (owner === undefined) {
      total += weight;
      continue;
    }
    const lease = `${attempt.fence} ${owner}`;
    const known = shared.get(lease) ?? 0;
    total += Math.max(0, weight - known);
    shared.set(lease, Math.max(weight, known));
  }
  return total;
}
