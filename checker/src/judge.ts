/**
 * Reads a history once, from its first event to its last, and lets every check look at each event.
 *
 * A check is a function from a context to an observer. It keeps what it needs for what is open, and
 * reports what it finds; so a history of millions of events needs memory for what is open at a time
 * only.
 */
import { type Attempt, Attempts } from './attempts.js';
import type { Begin, HistoryEvent } from './format.js';
import { type Pardon, Pardons, type Point } from './pardons.js';
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

/** Why a violation is excused: no store promises to prevent it. */
export type Excuse = Pardon | 'turn';

/** Something that must not have happened. */
export interface Violation {
  readonly check: CheckName;
  /** True if it is one that nobody promised to prevent, see `amnesia` and `force`. */
  readonly excused: boolean;
  /** What excuses it. */
  readonly excuse: Excuse | undefined;
  /** When, in ms of the history. */
  readonly t: number;
  /** What is wrong, and below it the attempts concerned. */
  readonly text: string;
}

/** The settings of the run, complete but for `settle`, which only its writer can know. */
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

/** What checks share. */
export interface Context {
  /** The settings of the run; those that it did not give have the library's defaults. */
  readonly begin: Settings;
  readonly attempts: Attempts;
  /**
   * When something was last broken: infinity while it is, minus infinity before the first. The
   * death of a process breaks nothing for others.
   */
  readonly faultT: number;
  /** Ms by which clocks were set, altogether: leases may have become longer by as much. */
  readonly steps: number;
  /** When it became calm for good. */
  readonly calmT: number | undefined;
  /** When a store last lost its memory of a key. */
  amnesiaT(key: string): number;
  /** Why a store does not promise that this lease still counts at this point, if so. */
  pardon(attempt: Attempt, point: Point): Pardon | undefined;
  report(found: Finding): void;
}

export interface Finding {
  readonly check: CheckName;
  readonly t: number;
  readonly what: string;
  readonly concerned: readonly Attempt[];
  readonly excused?: Excuse | undefined;
}

/** Sees every event of a history, after the attempt that it is about was brought up to date. */
export interface Observer {
  see?(event: HistoryEvent, at: number, attempt: Attempt | undefined): void;
  /** An attempt has ended, or the history has: nothing further will be believed of it. */
  settled?(attempt: Attempt): void;
  /** The history is over; `t` is the time of its last event. */
  finish?(t: number): void;
}

export type Check = (context: Context) => Observer;

const DEFAULTS = {
  localHandOffs: 8,
  claimWindow: 1000,
  ttl: 10_000,
  requestTimeout: 2000,
  retention: 60_000,
} as const;
const SLACK_MS = 5000;

/**
 * Judges a history whose events are in order of time (see `inOrder`).
 * @param found hears of every violation
 */
export function judge(
  events: Iterable<HistoryEvent>,
  checks: readonly Check[],
  found: (violation: Violation) => void,
): void {
  const run = new Run(checks, found);
  for (const event of events) run.see(event);
  run.finish();
}

/** All violations of a history, by some of the checks. */
export function violations(
  events: Iterable<HistoryEvent>,
  checks: readonly Check[],
): readonly Violation[] {
  const all: Violation[] = [];
  judge(events, checks, (violation) => all.push(violation));
  return all;
}

/** The same of a history that goes on: what is open may still end. */
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
  readonly #pardons = new Pardons();
  /** Faults that have begun and not ended. */
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
    this.#pardons.see(event, this.#at);
    this.#world(event);
    for (const observer of this.#observers) observer.see?.(event, this.#at, attempt);
    this.#at += 1;
  }

  finish(): void {
    if (!this.#ended) {
      const what = 'the history has no end: whoever wrote it was stopped, or hangs';
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
    return this.#pardons.amnesiaT(key);
  }

  pardon(attempt: Attempt, point: Point): Pardon | undefined {
    return this.#pardons.of(attempt, point, this.begin.ttl);
  }

  #world(event: HistoryEvent): void {
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
  // a withdrawal is repeated for a ttl and a request's time, and what it does not reach expires
  const grace = 2 * (ttl + requestTimeout) + claimWindow + slack;
  return { grace, felt: requestTimeout + claimWindow + slack, ...known };
}
