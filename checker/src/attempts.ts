/**
 * What became of each attempt, as far as the history has been read.
 *
 *     asked --grant--> held --release--> releasing --released--> released
 *       |               |  \---lost---> lost --release, released--> (stays lost)
 *       |               |\--weight--> held, with another weight and fence
 *       \--fail--> failed \--crash--> crashed
 *
 * An attempt's _belief_ lasts from its grant to the last moment at which it was seen to be held: to
 * the last `hold`, or to the call of a release of which the store said that it ended a live lease.
 * A release alone proves nothing: a process that was frozen calls it long after its lease ended.
 *
 * Memory is bounded by what is open: of attempts that have ended, the last ones are remembered.
 */
import type { Ask, AttemptEvent, Grant, HistoryEvent, Stamp, Weight } from './format.js';
import { Recent } from './recent.js';

export type AttemptState =
  | ('asked' | 'held' | 'releasing')
  | ('released' | 'failed' | 'lost' | 'crashed');

/** Ended attempts that are remembered. */
const ENDED = 1 << 16;
/** Grants to a process on a key among which the one before is looked for. */
const LAST = 4;

/** One acquisition. Positions count the events of the history; -1 is never. */
export class Attempt {
  readonly ask: Ask & Stamp;
  readonly askAt: number;
  state: AttemptState = 'asked';
  ticket = 0;
  grant: (Grant & Stamp) | undefined;
  grantAt = -1;
  /** Its ask, or that of the lease that was passed on to it: its lease is no older. */
  rootAt: number;
  /** The last moment of its belief. */
  believedAt = -1;
  believedT: number = Number.NEGATIVE_INFINITY;
  /** When it asked for its release, while that is not answered. */
  releaseAt = -1;
  releaseT = 0;
  /** The code it failed with, or the outcome of its release. */
  outcome: string | null = null;
  /** When it ended, in whichever way. */
  endT: number = Number.NaN;

  constructor(ask: Ask & Stamp, at: number) {
    this.ask = ask;
    this.askAt = at;
    this.rootAt = at;
  }

  get name(): string {
    return this.ask.a;
  }

  get key(): string {
    return this.ask.k;
  }

  get fence(): number {
    return this.grant?.fence ?? 0;
  }

  /** The same lease from here on, with another weight. */
  turned({ weight, fence, t }: Weight & Stamp, at: number): Attempt {
    const next = new Attempt({ ...this.ask, weight }, this.askAt);
    next.state = this.state;
    next.ticket = this.ticket;
    next.rootAt = this.rootAt;
    next.grant = { ...(this.grant as Grant & Stamp), fence, t };
    next.grantAt = at;
    believe(next, at, t);
    return next;
  }
}

/** Attempts of one key that are open, in order of their asks. */
interface OpenOnKey {
  readonly asked: Set<Attempt>;
  readonly held: Set<Attempt>;
}

/** One of the last grants to a process on a key. */
interface LastGrant {
  readonly fence: number;
  readonly rootAt: number;
}

/** Who hears of attempts. */
export interface AttemptEvents {
  /** An event that its attempt does not allow. */
  bad(event: HistoryEvent, attempt: Attempt | undefined, why: string): void;
  /** It has ended, or the history has: nothing further will be believed of it. */
  settled(attempt: Attempt): void;
}

const NONE: OpenOnKey = { asked: new Set(), held: new Set() };

export class Attempts {
  readonly #events: AttemptEvents;
  readonly #open = new Map<string, Attempt>();
  readonly #ended = new Recent<Attempt>(ENDED);
  readonly #keys = new Map<string, OpenOnKey>();
  readonly #last = new Map<string, LastGrant[]>();

  constructor(events: AttemptEvents) {
    this.#events = events;
  }

  /** An attempt that is open, or ended lately. */
  find(name: string): Attempt | undefined {
    return this.#open.get(name) ?? this.#ended.get(name);
  }

  /** Attempts that have not ended. */
  open(): Iterable<Attempt> {
    return this.#open.values();
  }

  /** Open asks of a key, and what is held or being released there, each the oldest first. */
  onKey(key: string): { readonly asked: Set<Attempt>; readonly held: Set<Attempt> } {
    return this.#keys.get(key) ?? NONE;
  }

  /** Takes an event up; returns the attempt that it is about. */
  see(event: HistoryEvent, at: number): Attempt | undefined {
    if (event.e === 'crash') {
      for (const attempt of [...this.#open.values()]) {
        if (attempt.ask.p === event.p) this.#end(attempt, 'crashed', event.t);
      }
      return undefined;
    }
    if (!('a' in event)) return undefined;
    if (event.e === 'ask') return this.#ask(event, at);
    const attempt = this.find(event.a);
    if (attempt === undefined) this.#events.bad(event, attempt, 'of an attempt that never asked');
    else this.#step(attempt, event, at);
    return this.find(event.a);
  }

  /** The history is over: what is open is settled as it stands. */
  finish(): void {
    for (const attempt of this.#open.values()) {
      if (attempt.grant !== undefined) this.#events.settled(attempt);
    }
  }

  #ask(event: Ask & Stamp, at: number): Attempt {
    const known = this.find(event.a);
    if (known !== undefined) this.#events.bad(event, known, 'of a name that was used before');
    const attempt = new Attempt(event, at);
    this.#open.set(event.a, attempt);
    let key = this.#keys.get(event.k);
    if (key === undefined) {
      key = { asked: new Set(), held: new Set() };
      this.#keys.set(event.k, key);
    }
    key.asked.add(attempt);
    return attempt;
  }

  #step(attempt: Attempt, event: Exclude<AttemptEvent, Ask>, at: number): void {
    const { state } = attempt;
    const allowed = ALLOWED[event.e];
    if (!allowed.includes(state)) {
      this.#events.bad(event, attempt, `while it is ${state}`);
      return;
    }
    if (event.k !== attempt.key) this.#events.bad(event, attempt, 'with another key');
    switch (event.e) {
      case 'queued':
        if (state === 'asked') attempt.ticket = event.ticket;
        break;
      case 'grant':
        this.#granted(attempt, event, at);
        break;
      case 'fail':
        attempt.outcome = event.code;
        this.#end(attempt, 'failed', event.t);
        break;
      case 'hold':
        if (state === 'held') believe(attempt, at, event.t);
        break;
      case 'use':
        if (event.fence !== attempt.fence) this.#events.bad(event, attempt, 'with another fence');
        break;
      case 'weight':
        if (state === 'held') this.#turned(attempt, event, at);
        break;
      case 'park':
      case 'woken':
      case 'signal':
      case 'signalled':
      case 'run':
        break;
      case 'release':
        attempt.releaseAt = at;
        attempt.releaseT = event.t;
        if (state === 'held') attempt.state = 'releasing';
        break;
      case 'lost':
        // while it is being released, the answer says more
        if (state === 'held') this.#end(attempt, 'lost', event.t);
        break;
      case 'released':
        if (attempt.releaseAt < 0) this.#events.bad(event, attempt, 'without a release');
        if (state !== 'releasing') break;
        attempt.outcome = event.outcome;
        if (endedLive(event.outcome)) believe(attempt, attempt.releaseAt, attempt.releaseT);
        this.#end(attempt, 'released', event.t);
    }
  }

  #granted(attempt: Attempt, event: Grant & Stamp, at: number): void {
    attempt.state = 'held';
    attempt.grant = event;
    attempt.grantAt = at;
    if (event.held !== false) believe(attempt, at, event.t);
    // inside a process a lease is passed on with the next fence, without asking the store
    const place = `${event.p} ${event.k}`;
    const last = this.#last.get(place) ?? [];
    const before = last.find(({ fence }) => fence === event.fence - 1);
    if (before !== undefined) attempt.rootAt = before.rootAt;
    last.push({ fence: event.fence, rootAt: attempt.rootAt });
    this.#last.set(place, last.slice(-LAST));
    const key = this.#keys.get(attempt.key) as OpenOnKey;
    key.asked.delete(attempt);
    key.held.add(attempt);
  }

  /** What it was is settled; its name stands for what it is from here on. */
  #turned(attempt: Attempt, event: Weight & Stamp, at: number): void {
    const next = attempt.turned(event, at);
    believe(attempt, at - 1, event.t);
    attempt.state = 'released';
    attempt.outcome = 'freed';
    attempt.endT = event.t;
    this.#open.set(attempt.name, next);
    const key = this.#keys.get(attempt.key) as OpenOnKey;
    key.held.delete(attempt);
    key.held.add(next);
    this.#events.settled(attempt);
  }

  #end(attempt: Attempt, state: AttemptState, t: number): void {
    attempt.state = state;
    attempt.endT = t;
    this.#open.delete(attempt.name);
    this.#ended.set(attempt.name, attempt);
    const key = this.#keys.get(attempt.key) as OpenOnKey;
    key.asked.delete(attempt);
    key.held.delete(attempt);
    this.#events.settled(attempt);
    if (key.asked.size === 0 && key.held.size === 0) this.#keys.delete(attempt.key);
  }
}

/** In which states an attempt may have an event. `hold` has a check of its own. */
const ALLOWED: Readonly<Record<Exclude<AttemptEvent, Ask>['e'], readonly AttemptState[]>> = {
  // a request that came twice may be queued when its attempt is over: that is for others to judge
  queued: ['asked', 'held', 'releasing', 'released', 'failed', 'lost', 'crashed'],
  grant: ['asked'],
  fail: ['asked'],
  hold: ['held', 'releasing', 'released', 'lost'],
  // what a process had sent before it died may still arrive
  use: ['held', 'releasing', 'released', 'lost', 'crashed'],
  weight: ['held', 'releasing', 'released', 'lost'],
  park: ['held', 'releasing', 'lost'],
  woken: ['releasing', 'released', 'lost'],
  signal: ['held', 'lost'],
  signalled: ['held', 'releasing', 'released', 'lost'],
  run: ['held', 'lost'],
  release: ['held', 'lost'],
  lost: ['held', 'releasing', 'released'],
  released: ['releasing', 'lost'],
};

/** True if a release with this outcome ended a lease that was alive until then. */
export function endedLive(outcome: string | null): boolean {
  return outcome === 'freed' || outcome === 'kept';
}

function believe(attempt: Attempt, at: number, t: number): void {
  attempt.believedAt = at;
  attempt.believedT = t;
}
