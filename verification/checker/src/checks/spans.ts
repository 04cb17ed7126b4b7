/**
 * Collects the span of belief of each lease of a key, and finds points at which the sum of weights
 * exceeds the capacity.
 *
 * A span is added when its attempt settles. Spans are checked in batches: when no attempt is open
 * on the key, or when there are many spans. A batch contains the spans that no open attempt can
 * still change. Spans that no later check needs are dropped.
 *
 * Only the start of each span is checked, because the sum of weights has its peaks there. Leases of
 * one owner with one fence are one lease. The limit is the capacity at the latest grant among the
 * active spans: see `Capacities`.
 */
import type { Attempt } from '../attempts.js';
import { Capacities } from '../capacities.js';
import type { Check, CheckName, Context, Observer } from '../run-checks.js';
import type { StoreExcuse } from '../excuses.js';

/** Smallest number of spans for which a batch is checked while attempts are open. */
const BATCH_MIN = 1024;

export interface Span {
  readonly attempt: Attempt;
  /** Positions in the history; the span includes both. */
  from: number;
  to: number;
  checked: boolean;
}

interface OnKey {
  spans: Span[];
  threshold: number;
}

export interface SpanRules {
  readonly check: CheckName;
  /** The start of the span of a granted attempt, at or before the position of its grant. */
  start(attempt: Attempt): number;
  /** Called for each event, before it settles attempts. */
  see?: Observer['see'];
  /** The message for a point that exceeds the capacity. */
  what(total: number, limit: number, key: string): string;
  /** Whether this check reports the point, or leaves it to another check. */
  concerns(spans: readonly Span[]): boolean;
}

/** Makes a check from rules for spans. */
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
    // the lease had already ended when its grant was noted
    if (attempt.believedAt < 0) return;
    const key = this.#key(attempt.key);
    const from = this.#rules.start(attempt);
    // a span that starts earlier than spans already checked may exceed the capacity with them
    if (from < attempt.grantAt) {
      for (const span of key.spans) if (span.from >= from) span.checked = false;
    }
    key.spans.push({ attempt, from, to: attempt.believedAt, checked: false });
    const { held } = this.#context.attempts.onKey(attempt.key);
    const isQuiet = held.size === 0;
    if (isQuiet || key.spans.length >= key.threshold) this.#runChecks(attempt.key, key, isQuiet);
  }

  finish(): void {
    for (const [name, key] of this.#keys) this.#checkUntil(name, key, Number.POSITIVE_INFINITY);
  }

  #key(name: string): OnKey {
    let key = this.#keys.get(name);
    if (key === undefined) {
      key = { spans: [], threshold: BATCH_MIN };
      this.#keys.set(name, key);
    }
    return key;
  }

  #runChecks(name: string, key: OnKey, isQuiet: boolean): void {
    const { asked, held } = this.#context.attempts.onKey(name);
    // a small batch waits for more spans, unless the key is no longer used
    if (isQuiet && key.spans.length < BATCH_MIN && asked.size > 0) return;
    let known = Number.POSITIVE_INFINITY;
    for (const { believedAt } of held) known = Math.min(known, believedAt);
    this.#checkUntil(name, key, known);
  }

  /** @param known the position up to which spans are final */
  #checkUntil(name: string, key: OnKey, known: number): void {
    const { asked } = this.#context.attempts.onKey(name);
    const active = new Set<Span>();
    const starts = key.spans.sort((one, other) => one.from - other.from);
    const ends = [...starts].sort((one, other) => one.to - other.to);
    let ended = 0;
    for (const span of starts) {
      for (; (ends[ended] as Span).to < span.from; ended++) active.delete(ends[ended] as Span);
      active.add(span);
      if (span.checked || span.from > known) continue;
      span.checked = true;
      if (active.size > 1 || span.attempt.ask.weight > span.attempt.ask.capacity) {
        this.#point(name, span, [...active]);
      }
    }
    const oldest = asked.values().next().value?.askAt ?? Number.POSITIVE_INFINITY;
    key.spans = starts.filter(({ to, checked }) => !checked || to >= Math.min(oldest, known));
    key.threshold = Math.max(BATCH_MIN, 2 * key.spans.length);
    if (key.spans.length === 0) this.#keys.delete(name);
  }

  #point(name: string, span: Span, active: Span[]): void {
    const limit = this.#limit(name, active);
    const total = weightOf(active);
    if (total <= limit || !this.#rules.concerns(active)) return;
    const t = span.attempt.grant?.t ?? 0;
    const point = {
      at: span.from,
      t,
      fence: latest(active).fence,
      joinedT: lastJoin(active),
    };
    const excuses = new Set<StoreExcuse>();
    const promised = active.filter(({ attempt }) => {
      const excuse = this.#context.excuseOf(attempt, point);
      if (excuse !== undefined) excuses.add(excuse);
      return excuse === undefined;
    });
    const isExcused = weightOf(promised) <= limit;
    this.#context.report({
      check: this.#rules.check,
      t,
      what: this.#rules.what(total, limit, name),
      concerned: active.slice(-8).map(({ attempt }) => attempt),
      excused: isExcused ? excuses.values().next().value : undefined,
    });
  }

  /**
   * The greatest capacity at the latest grant of these: the one that it asked for, or one that the
   * key may have been changed to before it. All others were granted earlier and had not ended.
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

/** The time of the last reply of an acquisition with an owner. */
function lastJoin(active: readonly Span[]): number {
  let last = Number.NEGATIVE_INFINITY;
  for (const { ask, grant } of active.map(({ attempt }) => attempt)) {
    if (ask.owner !== undefined) last = Math.max(last, grant?.t ?? last);
  }
  return last;
}

/** The sum of weights. Holds of one owner's lease count once, with the greatest weight. */
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
