/**
 * Puts events in order of time.
 *
 * Several processes write their own files, or send events to one writer, so a line may be a little
 * late. Events of one process with the same time stay in the order of their lines.
 */
import { FormatError, type HistoryEvent } from './format.js';
import { eventLine } from './text.js';

/** Number of events by which a line may be late. */
const LATE_MAX = 100_000;

/** Sorts a history that fits into memory. */
export function sorted(events: readonly HistoryEvent[]): HistoryEvent[] {
  return [...events].sort((one, other) => one.t - other.t);
}

/** Merges parts of one history. In each part an event may be at most `late` lines late. */
export function* inOrder(
  sources: readonly Iterable<HistoryEvent>[],
  late: number = LATE_MAX,
): Generator<HistoryEvent> {
  const heads = sources.map((source) => new Head(sortNearly(source, late)));
  for (;;) {
    let first: Head | undefined;
    for (const head of heads) {
      if (head.event !== undefined && (first?.event === undefined || head.event.t < first.event.t))
        first = head;
    }
    if (first?.event === undefined) return;
    yield first.event;
    first.next();
  }
}

class Head {
  event: HistoryEvent | undefined;
  readonly #source: Iterator<HistoryEvent>;

  constructor(source: Iterable<HistoryEvent>) {
    this.#source = source[Symbol.iterator]();
    this.next();
  }

  next(): void {
    const { value, done } = this.#source.next();
    this.event = done === true ? undefined : value;
  }
}

/** Sorts two windows of `late` events at a time, and yields the first of them. */
function* sortNearly(events: Iterable<HistoryEvent>, late: number): Generator<HistoryEvent> {
  let pending: HistoryEvent[] = [];
  let isSorted = true;
  let yieldedT = Number.NEGATIVE_INFINITY;
  for (const event of events) {
    if (event.t < yieldedT) {
      throw new FormatError(`an event is more than ${late} lines late: ${eventLine(event)}`);
    }
    if (pending.length > 0 && event.t < (pending.at(-1) as HistoryEvent).t) isSorted = false;
    pending.push(event);
    if (pending.length < 2 * late) continue;
    if (!isSorted) pending = sorted(pending);
    isSorted = true;
    yield* pending.slice(0, late);
    yieldedT = (pending[late - 1] as HistoryEvent).t;
    pending = pending.slice(late);
  }
  yield* isSorted ? pending : sorted(pending);
}
