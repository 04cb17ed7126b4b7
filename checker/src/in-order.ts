/**
 * Events in order of time.
 *
 * Several processes write each its own file, or send what they saw to one that writes, so that a
 * line may come a little late. Events of one process with the same time stay as they were written.
 */
import { FormatError, type HistoryEvent } from './format.js';
import { eventLine } from './text.js';

/** Events by which one may be late. */
const LATE_MAX = 100_000;

/** Sorts a history that fits into memory. */
export function sorted(events: readonly HistoryEvent[]): HistoryEvent[] {
  return [...events].sort((one, other) => one.t - other.t);
}

/** Merges parts of one history, each almost in order, with memory for `late` events of each. */
export function* inOrder(
  sources: readonly Iterable<HistoryEvent>[],
  late: number = LATE_MAX,
): Generator<HistoryEvent> {
  const heads = sources.map((source) => new Head(straighten(source, late)));
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

/** Sorts two windows at a time, and lets the first of them go. */
function* straighten(events: Iterable<HistoryEvent>, late: number): Generator<HistoryEvent> {
  let pending: HistoryEvent[] = [];
  let isSorted = true;
  let goneT = Number.NEGATIVE_INFINITY;
  for (const event of events) {
    if (event.t < goneT) {
      throw new FormatError(`more than ${late} events late: ${eventLine(event)}`);
    }
    if (pending.length > 0 && event.t < (pending.at(-1) as HistoryEvent).t) isSorted = false;
    pending.push(event);
    if (pending.length < 2 * late) continue;
    if (!isSorted) pending = sorted(pending);
    isSorted = true;
    yield* pending.slice(0, late);
    goneT = (pending[late - 1] as HistoryEvent).t;
    pending = pending.slice(late);
  }
  yield* isSorted ? pending : sorted(pending);
}
