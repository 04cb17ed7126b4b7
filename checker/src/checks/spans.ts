/**
 * For how long each lease of a key was believed in, and whether that ever was more than fits.
 *
 * Spans are collected as their attempts settle, and judged in batches: at a moment when nothing is
 * open on the key, or when many have gathered, those that no open attempt can still touch. What can
 * matter no more is dropped.
 *
 * A point is judged where a span starts, because a sum of weights has its peaks there. Leases of
 * one owner with one fence are one lease. The limit is the largest capacity that anybody concerned
 * asked for, or that anybody asked to resize to before.
 */
import type { Attempt } from '../attempts.js';
import type { Check, CheckName, Context, Observer } from '../judge.js';

/** Where spans of a key were collected, a batch is judged at this size at the latest. */
const BATCH_MIN = 1024;

export interface Span {
  readonly attempt: Attempt;
  /** Positions in the history: both belong to it. */
  from: number;
  to: number;
  judged: boolean;
}

/** A forced release: leases asked for before it returned may have ended when it was called. */
interface Forced {
  readonly from: number;
  to: number;
  readonly id: string | undefined;
}

interface OnKey {
  spans: Span[];
  threshold: number;
  resized: number;
  readonly forced: Forced[];
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

  constructor(context: Context, rules: SpanRules) {
    this.#context = context;
    this.#rules = rules;
  }

  see(...[event, at, attempt]: Parameters<NonNullable<Observer['see']>>): void {
    this.#rules.see?.(event, at, attempt);
    if (event.e === 'resize') {
      const key = this.#key(event.k);
      key.resized = Math.max(key.resized, event.capacity);
    } else if (event.e === 'force') {
      this.#key(event.k).forced.push({ from: at, to: Number.POSITIVE_INFINITY, id: event.id });
    } else if (event.e === 'forced') {
      const open = this.#key(event.k).forced.find(({ id, to }) => id === event.id && to > at);
      if (open !== undefined) open.to = at;
    }
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
      key = { spans: [], threshold: BATCH_MIN, resized: 0, forced: [] };
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
        this.#point(name, key, span, [...active]);
      }
    }
    const oldest = asked.values().next().value?.askAt ?? Number.POSITIVE_INFINITY;
    key.spans = starts.filter(({ to, judged }) => !judged || to >= Math.min(oldest, known));
    key.threshold = Math.max(BATCH_MIN, 2 * key.spans.length);
    if (key.spans.length === 0 && key.forced.length === 0 && key.resized === 0) {
      this.#keys.delete(name);
    }
  }

  #point(name: string, key: OnKey, span: Span, active: Span[]): void {
    const capacities = active.map(({ attempt }) => attempt.ask.capacity);
    const limit = Math.max(key.resized, ...capacities);
    const total = weightOf(active);
    if (total <= limit || !this.#rules.concerns(active)) return;
    const promised = active.filter((each) => !this.#isExcused(each, span.from, key));
    this.#context.report({
      check: this.#rules.check,
      t: span.attempt.grant?.t ?? 0,
      what: this.#rules.what(total, limit, name),
      concerned: active.slice(-8).map(({ attempt }) => attempt),
      excused: weightOf(promised) <= limit,
    });
  }

  /** True if nobody promised that this lease would still count at this point. */
  #isExcused({ attempt }: Span, point: number, { forced }: OnKey): boolean {
    const forgotten = this.#context.amnesias.findLast((at) => at <= point) ?? -1;
    if (attempt.rootAt < forgotten) return true;
    const isForced = ({ from, to, id }: Forced): boolean =>
      from <= point && attempt.rootAt < to && (id === undefined || id === attempt.grant?.id);
    return forced.some(isForced);
  }
}

function weightOf(spans: readonly Span[]): number {
  const shared = new Set<string>();
  let total = 0;
  for (const { attempt } of spans) {
    const { owner, weight } = attempt.ask;
    if (owner !== undefined) {
      const lease = `${attempt.fence} ${owner}`;
      if (shared.has(lease)) continue;
      shared.add(lease);
    }
    total += weight;
  }
  return total;
}
