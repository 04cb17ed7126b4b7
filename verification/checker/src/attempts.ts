/**
 * The state of each attempt at the current position of the history.
 *
 *     asked --grant--> held --release--> releasing --released--> released
 *       |               |  \---lost---> lost --release, released--> (stays lost)
 *       |               |\--weight--> held, with another weight and fence
 *       \--fail--> failed \--crash--> crashed
 *
 * The _belief_ of an attempt lasts from its grant to the last moment at which the lease was known
 * to be held: the last `hold`, or the call of a release that ended a live lease by its outcome. A
 * release alone proves nothing: a frozen process may call it long after its lease has ended.
 *
 * Memory is needed for open attempts, and for a fixed number of attempts that ended last.
 */
import type { Ask, AttemptEvent, Grant, HistoryEvent, Stamp, Weight } from './format.js';
import { Recent } from './recent.js';

export type AttemptState =
  | ('asked' | 'held' | 'releasing')
  | ('released' | 'failed' | 'lost' | 'crashed');

/** Number of ended attempts that are remembered. */
const ENDED = 1 << 16;
/** Last grants to a process on a key that are searched for the predecessor in a hand-off. */
const LAST = 4;

/** One acquisition. Positions (`…At`) count the events of the history; -1 means never. */
export class Attempt {
  readonly ask: Ask & Stamp;
  readonly askAt: number;
  state: AttemptState = 'asked';
  ticket = 0;
  grant: (Grant & Stamp) | undefined;
  grantAt = -1;
  /** Its own ask, or the ask of the first lease in its chain of local hand-offs. */
  rootAt: number;
  /** The last moment of its belief. */
  believedAt = -1;
  believedT: number = Number.NEGATIVE_INFINITY;
  /** When its release was called. */
  releaseAt = -1;
  releaseT = 0;
  /** The code it failed with, or the outcome of its release. */
  outcome: string | null = null;
  /** When it ended. */
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

  /** The same lease with another weight. */
  withWeight({ weight, fence, held, t }: Weight & Stamp, at: number): Attempt {
    const next = new Attempt({ ...this.ask, weight }, this.askAt);
    next.state = this.state;
    next.ticket = this.ticket;
    next.rootAt = this.rootAt;
    next.grant = { ...(this.grant as Grant & Stamp), fence, t };
    next.grantAt = at;
    if (held !== false) believe(next, at, t);
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

/** Callbacks for events of attempts. */
export interface AttemptEvents {
  /** The state of the attempt does not allow this event. */
  bad(event: HistoryEvent, attempt: Attempt | undefined, why: string): void;
  /** The attempt or the history has ended: the belief of the attempt is final. */
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

  /** Finds an attempt that is open or ended recently. */
  find(name: string): Attempt | undefined {
    return this.#open.get(name) ?? this.#ended.get(name);
  }

  /** All attempts that have not ended. */
  open(): Iterable<Attempt> {
    return this.#open.values();
  }

  /** Open attempts of a key: asked, and held or releasing; oldest first. */
  onKey(key: string): { readonly asked: Set<Attempt>; readonly held: Set<Attempt> } {
    return this.#keys.get(key) ?? NONE;
  }

  /** Processes an event; returns its attempt. */
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
    if (attempt === undefined) this.#events.bad(event, attempt, 'of an attempt without an ask');
    else this.#step(attempt, event, at);
    return this.find(event.a);
  }

  /** The history has ended: open attempts are settled in their present state. */
  finish(): void {
    for (const attempt of this.#open.values()) {
      if (attempt.grant !== undefined) this.#events.settled(attempt);
    }
  }

  #ask(event: Ask & Stamp, at: number): Attempt {
    const known = this.find(event.a);
    if (known !== undefined) this.#events.bad(event, known, 'with the name of an earlier attempt');
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
        if (state === 'held') this.#withWeight(attempt, event, at);
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
        // for an attempt in `releasing` the outcome of the release decides
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
    // a local hand-off gives the lease the next fence without a request to the store
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

  /** Settles the attempt with the old weight; its name then stands for the new weight. */
  #withWeight(attempt: Attempt, event: Weight & Stamp, at: number): void {
    const next = attempt.withWeight(event, at);
    if (event.held !== false) believe(attempt, at - 1, event.t);
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

/** States in which an event is allowed. A wrong `hold` is found by the check `zombie`. */
const ALLOWED: Readonly<Record<Exclude<AttemptEvent, Ask>['e'], readonly AttemptState[]>> = {
  // a late duplicate may be queued after its attempt has ended: the check `ghost` decides on it
  queued: ['asked', 'held', 'releasing', 'released', 'failed', 'lost', 'crashed'],
  grant: ['asked'],
  fail: ['asked'],
  hold: ['held', 'releasing', 'released', 'lost'],
  // a write that was sent before the process died may still arrive
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

/** True if a release with this outcome ended a live lease. */
export function endedLive(outcome: string | null): boolean {
  return outcome === 'freed' || outcome === 'kept';
}

function believe(attempt: Attempt, at: number, t: number): void {
  attempt.believedAt = at;
  attempt.believedT = t;
}
