/**
 * A simulated register: what it keeps, its clock, and its condition. It does what the contract of
 * `docs/register.md` asks for, except after a fault that is excused.
 */
import type {
  Change,
  MessageListener,
  RegisterErrorKind,
  Scanned,
  Swapped,
  Versioned,
} from '../../../../packages/holdfast/dist/register.js';
import type { Random } from '../base/random.js';
import type { Scheduler } from '../base/scheduler.js';
import type { Silence } from '../common/line.js';
import { Machine } from '../world/machine.js';
import type { RegisterPlan } from './plan.js';

/** The version of a key without a state. */
export const NONE = '0';
/** One in so many swaps removes the states that may be forgotten. */
const SWEEP_EVERY = 50;
/** The most by which the clock is set back, in parts of the retention; fences need the rest. */
const BACK = 0.8;

interface Entry {
  readonly state: string;
  readonly version: string;
  readonly forgetAt: number;
  /** The version is that of an `overtake`. */
  readonly isOvertaken?: boolean;
}

interface Guard {
  readonly fence: number;
  readonly until: number;
}

/** What a message brings to the next holder. */
export interface Brought {
  readonly text: string;
  readonly key: string;
  readonly state: string;
  readonly version: string;
}

const MARK = '+';

/** A text that no one can forge: here, because no one tries. Old ones are repeated. */
function brought(all: Brought): string {
  return `${MARK}${JSON.stringify(all)}`;
}

export function broughtBy(message: string): Brought | undefined {
  return message.startsWith(MARK) ? (JSON.parse(message.slice(MARK.length)) as Brought) : undefined;
}

/** Called after a swap took effect. */
export type Published = (channel: string, text: string) => void;

/** An outage, in which calls fail with an error of this kind. */
export interface Outage {
  readonly kind: RegisterErrorKind;
  readonly until: number;
}

export class RegisterServer implements Silence {
  frozenUntil = 0;
  cutUntil = 0;
  outage: Outage = { kind: 'unanswered', until: 0 };
  swaps = 0;
  /** Called after each swap that takes effect. */
  changed: ((key: string, state: string) => void) | undefined;
  /** By how much the clock was set back so far, in ms. */
  setBack = 0;
  readonly listeners: Map<string, Set<MessageListener>> = new Map();
  readonly #plan: RegisterPlan;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #machine: Machine;
  readonly #publish: Published;
  #entries = new Map<string, Entry>();
  #backup = new Map<string, Entry>();
  /** The transactions that guard leases, by the keys. */
  readonly #guards = new Map<string, Guard>();

  constructor(plan: RegisterPlan, scheduler: Scheduler, random: Random, publish: Published) {
    this.#plan = plan;
    this.#scheduler = scheduler;
    this.#random = random;
    this.#publish = publish;
    const apart = 1.7e12 + random.between(-1e9, 1e9);
    this.#machine = new Machine('register', 1 + random.between(-4e-3, 4e-3), 0, apart);
  }

  /** Its clock, in µs. */
  get time(): number {
    return Math.floor(this.#machine.wall(this.#scheduler.now) * 1000);
  }

  read(key: string): Versioned {
    const { state, version } = this.#entry(key);
    return { state, version, time: this.time };
  }

  swap(key: string, version: string, change: Change): Swapped {
    const isHeldBack = this.guarded(key) !== undefined && change.grants !== false;
    if (this.#entry(key).version !== version || isHeldBack) return false;
    const { state, forgetAt, messages, nextChannel } = change;
    const next = this.#next();
    this.#entries.set(key, { state, forgetAt, version: next });
    if (this.swaps % SWEEP_EVERY === 0) this.#sweep();
    for (const { channel, text } of messages) {
      const brings = this.#plan.handsOver && channel === nextChannel;
      this.#publish(channel, brings ? brought({ text, key, state, version: next }) : text);
    }
    this.changed?.(key, state);
    const isBlind = this.#plan.blind > 0 && this.#random.chance(this.#plan.blind);
    return { version: isBlind ? '' : next, time: this.time };
  }

  overtake(key: string): Versioned {
    const entry = this.#entry(key);
    if (entry.version !== NONE && entry.isOvertaken !== true) {
      this.#entries.set(key, { ...entry, version: this.#next(), isOvertaken: true });
    }
    return this.read(key);
  }

  scan(prefix: string): Scanned[] {
    return [...this.#entries.keys()]
      .filter((key) => key.startsWith(prefix))
      .map((key) => ({ key }));
  }

  /** A transaction guards the lease with a fence for a time, in ms. */
  guard(key: string, fence: number, ms: number): void {
    this.#guards.set(key, { fence, until: this.#scheduler.now + ms });
  }

  /** The fence of the lease that a transaction guards. */
  guarded(key: string): number | undefined {
    const guard = this.#guards.get(key);
    return guard !== undefined && guard.until > this.#scheduler.now ? guard.fence : undefined;
  }

  /** Its clock gets another rate, or is set back. False if it may not be set back any more. */
  stepBack(): boolean {
    const { now } = this.#scheduler;
    this.#machine.setRate(now, 1 + this.#random.between(-4e-3, 4e-3));
    const left = BACK * this.#plan.retention - this.setBack;
    if (left < 1) return false;
    const ms = this.#random.spread(1, Math.min(left, 20_000));
    this.setBack += ms;
    this.#machine.stepWall(-ms);
    return true;
  }

  stepForward(ms: number): void {
    this.#machine.stepWall(ms);
  }

  save(): void {
    this.#backup = new Map(this.#entries);
  }

  /** The states are those of the last backup. Transactions end. */
  restore(): void {
    this.#entries = new Map(this.#backup);
    this.#guards.clear();
  }

  #next(): string {
    this.swaps += 1;
    return `${this.swaps}.${this.#random.whole(1, 1e6)}`;
  }

  #entry(key: string): Entry {
    const entry = this.#entries.get(key);
    if (entry === undefined) return { state: '', version: NONE, forgetAt: 0 };
    if (entry.forgetAt > this.time || this.guarded(key) !== undefined) return entry;
    if (!this.#plan.deletes) return { ...entry, state: '' };
    this.#entries.delete(key);
    return { state: '', version: NONE, forgetAt: 0 };
  }

  #sweep(): void {
    for (const [key, { forgetAt }] of this.#entries) {
      if (forgetAt > this.time || this.guarded(key) !== undefined) continue;
      this.#entries.delete(key);
    }
  }
}
