/**
 * Reads a history once, from its first event to its last, and passes each event to every check.
 *
 * A check is a function from a context to an observer, which reports violations. Observers keep
 * data about open attempts only, so the memory for a history does not grow with its length.
 */
import { type Attempt, Attempts } from './attempts.js';
import type { Begin, HistoryEvent } from './format.js';
import { type StoreExcuse, Excuses, type Point } from './excuses.js';
import { describe, eventLine } from './text.js';

/** The names of the checks, in the order of reports. */
export const CHECKS: readonly CheckName[] = [
  'lifecycle',
  'exclusion',
  'fence',
  'use',
  'linear',
  'order',
  'wakeup',
  'zombie',
  'ghost',
  'refusal',
  'signal',
  'slot',
  'latch',
  'barrier',
];

export type CheckName =
  | ('lifecycle' | 'exclusion' | 'fence' | 'use' | 'linear' | 'order')
  | ('wakeup' | 'zombie' | 'ghost' | 'refusal')
  | ('signal' | 'slot' | 'latch' | 'barrier');

/** Why a violation is excused: a single store does not promise to prevent it. */
export type Excuse = StoreExcuse | 'turn';

/** A violation of an invariant. */
export interface Violation {
  readonly check: CheckName;
  /** True if no guarantee covers it, see `amnesia` and `force`. */
  readonly excused: boolean;
  /** The reason why it is excused. */
  readonly excuse: Excuse | undefined;
  /** Its time in ms of the history. */
  readonly t: number;
  /** The violation in the first line, and the attempts concerned in the next lines. */
  readonly text: string;
}

/** The settings of the run with all defaults. `settle` has no default. */
export interface Settings {
  readonly localHandOffs: number;
  readonly claimWindow: number;
  readonly ttl: number;
  readonly requestTimeout: number;
  readonly retention: number;
  readonly slack: number;
  readonly delay: number;
  readonly grace: number;
  readonly felt: number;
  readonly settle?: number;
}

/** The data that all checks share. */
export interface Context {
  /** The settings of the run; missing ones have the defaults of the library. */
  readonly begin: Settings;
  readonly attempts: Attempts;
  /**
   * The time of the last fault: infinity while a fault is active, minus infinity before the first.
   * The death of a process is not a fault for other processes.
   */
  readonly faultT: number;
  /** The sum in ms of all steps of clocks: leases may be longer by as much. */
  readonly steps: number;
  /** The time of `calm`. */
  readonly calmT: number | undefined;
  /** When a store last lost its memory of a key. */
  amnesiaT(key: string): number;
  /** The reason why the store does not guarantee this lease at this point, if there is one. */
  excuseOf(attempt: Attempt, point: Point): StoreExcuse | undefined;
  report(found: Finding): void;
}

export interface Finding {
  readonly check: CheckName;
  readonly t: number;
  readonly what: string;
  readonly concerned: readonly Attempt[];
  readonly excused?: Excuse | undefined;
}

/** Receives every event of a history, after the state of its attempt was updated. */
export interface Observer {
  see?(event: HistoryEvent, at: number, attempt: Attempt | undefined): void;
  /** The attempt or the history has ended: the belief of the attempt is final. */
  settled?(attempt: Attempt): void;
  /** The history has ended; `t` is the time of its last event. */
  finish?(t: number): void;
}

export type Check = (context: Context) => Observer;

const DEFAULTS = {
  localHandOffs: 64,
  claimWindow: 1000,
  ttl: 10_000,
  requestTimeout: 2000,
  retention: 60_000,
} as const;
const SLACK_MS = 5000;

/**
 * Checks a history. Its events must be in order of time (see `inOrder`).
 * @param found called for every violation
 */
export function runChecks(
  events: Iterable<HistoryEvent>,
  checks: readonly Check[],
  found: (violation: Violation) => void,
): void {
  const run = new Run(checks, found);
  for (const event of events) run.see(event);
  run.finish();
}

/** All violations of a history that the given checks find. */
export function violations(
  events: Iterable<HistoryEvent>,
  checks: readonly Check[],
): readonly Violation[] {
  const all: Violation[] = [];
  runChecks(events, checks, (violation) => all.push(violation));
  return all;
}

/** The same for a history that is not complete: open attempts may still end. */
export function violationsSoFar(
  events: Iterable<HistoryEvent>,
  checks: readonly Check[],
): readonly Violation[] {
  const all: Violation[] = [];
  const run = new Run(checks, (violation) => all.push(violation));
  for (const event of events) run.see(event);
  return all;
}

class Run implements Context {
  begin: Settings = complete({ e: 'begin' });
  readonly attempts: Attempts;
  faultT: number = Number.NEGATIVE_INFINITY;
  calmT: number | undefined;
  steps = 0;
  readonly #found: (violation: Violation) => void;
  readonly #observers: readonly Observer[];
  readonly #excuses = new Excuses();
  /** Active faults. */
  readonly #faults = new Set<string>();
  #at = 0;
  #t = 0;
  #ended = false;

  constructor(checks: readonly Check[], found: (violation: Violation) => void) {
    this.#found = found;
    this.attempts = new Attempts({
      bad: (event, attempt, why) => this.#bad(event, attempt, why),
      settled: (attempt) => {
        for (const observer of this.#observers) observer.settled?.(attempt);
      },
    });
    this.#observers = checks.map((check) => check(this));
  }

  see(event: HistoryEvent): void {
    this.#t = event.t;
    const attempt = this.attempts.see(event, this.#at);
    this.#excuses.see(event, this.#at);
    this.#updateFaults(event);
    for (const observer of this.#observers) observer.see?.(event, this.#at, attempt);
    this.#at += 1;
  }

  finish(): void {
    if (!this.#ended) {
      const what = 'the history has no end event: its writer was stopped, or hangs';
      this.report({ check: 'lifecycle', t: this.#t, what, concerned: [] });
    }
    this.attempts.finish();
    for (const observer of this.#observers) observer.finish?.(this.#t);
  }

  report({ check, t, what, concerned, excused: excuse }: Finding): void {
    const text = [what, ...concerned.map(describe)].join('\n    ');
    this.#found({ check, t, excused: excuse !== undefined, excuse, text });
  }

  amnesiaT(key: string): number {
    return this.#excuses.amnesiaT(key);
  }

  excuseOf(attempt: Attempt, point: Point): StoreExcuse | undefined {
    return this.#excuses.of(attempt, point, this.begin.ttl);
  }

  #updateFaults(event: HistoryEvent): void {
    if (event.e === 'begin') this.begin = complete(event);
    else if (event.e === 'calm') this.#calm(event.t);
    else if (event.e === 'end') this.#ended = true;
    else if (event.e === 'amnesia') this.#broken(event.t);
    else if (event.e === 'fault') this.#fault(event);
  }

  #calm(t: number): void {
    this.calmT = t;
    this.#faults.clear();
    if (this.faultT !== Number.NEGATIVE_INFINITY) this.faultT = t;
  }

  #fault({ p, kind, phase, t, step }: Extract<HistoryEvent, { e: 'fault' }>): void {
    this.steps += Math.abs(step ?? 0);
    const name = `${p} ${kind}`;
    if (phase === 'begin') this.#faults.add(name);
    if (phase === 'end') this.#faults.delete(name);
    this.#broken(t);
  }

  #broken(t: number): void {
    this.faultT = this.#faults.size > 0 ? Number.POSITIVE_INFINITY : t;
  }

  #bad(event: HistoryEvent, attempt: Attempt | undefined, why: string): void {
    const what = `an event ${why}: ${eventLine(event)}`;
    const concerned = attempt === undefined ? [] : [attempt];
    this.report({ check: 'lifecycle', t: event.t, what, concerned });
  }
}

function complete(given: Begin): Settings {
  const known = { ...DEFAULTS, slack: SLACK_MS, delay: 0, ...given };
  const { ttl, claimWindow, requestTimeout, slack } = known;
  // a withdrawal is repeated for a ttl and a request; a lease that it does not reach then expires
  const grace = 2 * (ttl + requestTimeout) + claimWindow + slack;
  return { grace, felt: requestTimeout + claimWindow + slack, ...known };
}
