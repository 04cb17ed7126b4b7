/**
 * Damaged copies of a history. Each contains one wrong event, which one check must find. They show
 * that a run contains enough events for the checks to find a problem.
 */
import { type Attempt, Attempts } from '../../../../verification/checker/src/attempts.js';
import type { CheckName, HistoryEvent } from '../../../../verification/checker/src/index.js';

type EventOf<E extends HistoryEvent['e']> = Extract<HistoryEvent, { readonly e: E }>;

export interface Damage {
  readonly name: string;
  /** The check that must find the damage. */
  readonly check: CheckName;
  /** The damaged copy; `undefined` if the history has no event to damage in this way. */
  readonly make: (events: readonly HistoryEvent[]) => readonly HistoryEvent[] | undefined;
}

function find<E extends HistoryEvent['e']>(
  events: readonly HistoryEvent[],
  e: E,
  fits: (event: EventOf<E>) => boolean = () => true,
): EventOf<E> | undefined {
  return events.find((event) => event.e === e && fits(event as EventOf<E>)) as
    | EventOf<E>
    | undefined;
}

/** A copy in which one event is changed. */
function changed<E extends HistoryEvent>(
  events: readonly HistoryEvent[],
  one: E | undefined,
  change: Partial<E>,
): readonly HistoryEvent[] | undefined {
  if (one === undefined) return undefined;
  return events.map((event) => (event === one ? { ...event, ...change } : event));
}

/** The calls that passed a gate. Those that ended before, as their process did, do not count. */
function passages(events: readonly HistoryEvent[]): EventOf<'passed'>[] {
  const waiting = new Map<string, string>();
  const passed: EventOf<'passed'>[] = [];
  for (const event of events) {
    if (event.e === 'await') waiting.set(event.g, event.p);
    else if (event.e === 'stopped') waiting.delete(event.g);
    else if (event.e === 'passed' && waiting.delete(event.g)) passed.push(event);
    else if (event.e === 'crash') {
      for (const [g, process] of waiting) if (process === event.p) waiting.delete(g);
    }
  }
  return passed;
}

export const DAMAGES: readonly Damage[] = [
  {
    name: 'a latch without its count-downs',
    check: 'latch',
    make: (events) => {
      const passed = passages(events).find(({ index }) => index === undefined);
      if (passed === undefined) return undefined;
      return events.filter((event) => event.e !== 'count' || event.k !== passed.k);
    },
  },
  {
    name: 'a participant of a barrier with the index of another',
    check: 'barrier',
    make: (events) => {
      const passed = passages(events);
      const one = passed.find(({ index }) => index === 0);
      const other = passed.find((each) => {
        return each !== one && each.k === one?.k && each.generation === one.generation;
      });
      return changed(events, other, { index: 0 });
    },
  },
  {
    name: 'a slot that runs twice',
    check: 'slot',
    make: (events) => {
      const runs = events.filter((event) => event.e === 'run');
      for (const [at, { k, slot, t }] of runs.entries()) {
        // a slot is remembered for the retention
        const within = (run: EventOf<'run'>): boolean => run.t < t + run.retention;
        const other = runs
          .slice(at + 1)
          .find((run) => run.k === k && run.slot !== slot && within(run));
        if (other !== undefined) return changed(events, other, { slot });
      }
      return undefined;
    },
  },
  {
    name: 'signals that woke no waiter',
    check: 'signal',
    make: (events) => {
      const one = find(events, 'signalled', ({ count }) => count === 1);
      return changed(events, one, { count: 100 });
    },
  },
  {
    name: 'a reader that was a writer',
    check: 'exclusion',
    make: (events) => overlapOf(events, ({ weight, capacity }) => weight === 1 && capacity > 100),
  },
  {
    name: 'a semaphore of fewer permits',
    check: 'exclusion',
    make: (events) => {
      const shared = overlapOf(events, ({ capacity }) => capacity > 1 && capacity < 100);
      return shared?.filter(({ e }) => e !== 'resize');
    },
  },
  {
    name: 'two owners that share a lease',
    check: 'exclusion',
    make: (events) => overlapOf(events, ({ owner }) => owner !== undefined),
  },
];

/**
 * A copy in which two simultaneous holders each take the whole capacity without an owner: the
 * greatest capacity that a call for the key names. Only asks that fit `fits` are changed.
 */
function overlapOf(
  events: readonly HistoryEvent[],
  fits: (ask: EventOf<'ask'>) => boolean,
): readonly HistoryEvent[] | undefined {
  const holders = attemptsOf(events).filter(({ ask }) => fits(ask));
  for (const { key, grantAt, name } of holders) {
    const other = holders.find(
      (each) => each.key === key && each.grantAt < grantAt && each.believedAt > grantAt,
    );
    if (other !== undefined) return alone(events, key, [name, other.name]);
  }
  return undefined;
}

/** The attempts that believed in a lease of one weight, in the order of their ends. */
function attemptsOf(events: readonly HistoryEvent[]): Attempt[] {
  const weighed = new Set(events.map((event) => (event.e === 'weight' ? event.a : undefined)));
  const found: Attempt[] = [];
  const attempts = new Attempts({
    settled: (attempt) => {
      const { name, grant, believedAt } = attempt;
      if (grant !== undefined && believedAt >= 0 && !weighed.has(name)) found.push(attempt);
    },
    bad: () => undefined,
  });
  for (const [at, event] of events.entries()) attempts.see(event, at);
  attempts.finish();
  return found;
}

function alone(
  events: readonly HistoryEvent[],
  key: string,
  names: readonly string[],
): readonly HistoryEvent[] {
  let most = 0;
  for (const event of events)
    if (event.e === 'ask' && event.k === key) most = Math.max(most, event.capacity);
  return events.map((event) => {
    if (event.e !== 'ask' || !names.includes(event.a)) return event;
    const { owner: _, ...rest } = event;
    return { ...rest, weight: most, capacity: most };
  });
}
