/**
 * Options: all defaults and limits. Each is resolved once, and then frozen.
 *
 * Durations are milliseconds.
 */
import { type RandomSource, systemRandomSource } from './random-source.js';
import { checkOwner, duration, flag, known, TEXT_MAX, text, whole } from './checks.js';
import { type Clock, systemClock } from './clock.js';
import { badOption } from './errors.js';
import { over } from './given.js';
import { checkPrefix, PREFIX } from './prefix.js';

/** What a `Holdfast` is made with. Every one of them is optional. */
export interface HoldfastOptions {
  /**
   * What the names of all keys and channels begin with: up to 100 characters, without braces and
   * control characters. Default `holdfast:`.
   */
  readonly prefix?: string;
  /**
   * Length of a lease. A crashed holder blocks others for no longer. 10 to 86,400,000; default
   * 10,000.
   */
  readonly ttl?: number;
  /** Renew leases while they are held. Default `true`. */
  readonly renew?: boolean;
  /**
   * Length that a lease granted to a waiter starts with, if shorter than `ttl`; renewal extends it.
   * It is what a frozen waiter costs the queue, and how often waiters look after their queue. A
   * lease with `renew: false` starts with its whole `ttl`. 20 to 60,000; default 1,000.
   */
  readonly claimWindow?: number;
  /**
   * Longest time that one request to the store may take, whatever the client thinks. Default 2,000.
   */
  readonly requestTimeout?: number;
  /**
   * Longest time that a waiting acquisition puts up with a store that does not answer. Default
   * 10,000.
   */
  readonly unreachableAfter?: number;
  /** Longest queue of one key; who comes later is refused. Default 10,000. */
  readonly maxQueue?: number;
  /**
   * Leases that may be passed on inside a process, without a round trip, between two that the store
   * grants in the order of its queue. The bound of the default mode: a waiter is overtaken at most
   * this often for each grant before its own. 0 to 1,000; default 8. Not used by `fair`
   * acquisitions.
   */
  readonly localHandOffs?: number;
  /**
   * How long a key is remembered after its last use: by how much a server's clock may step back
   * without a fence that is too low. Default 60,000.
   */
  readonly retention?: number;
  /**
   * How long the connection that waiters are woken on is kept after the last one. Default 30,000.
   */
  readonly linger?: number;
  /** Free text for whoever looks at a lock: the service, the job. Up to 200 characters. */
  readonly label?: string;
  /** Close on these signals, then let the process die of them. Default: none. */
  readonly closeOnSignals?: readonly NodeJS.Signals[];
  /** How long `close()` waits for leases to be released by their holders. Default 10,000. */
  readonly grace?: number;
  /** The time, for tests. */
  readonly clock?: Clock;
  /**
   * Where chance comes from, for simulations.
   * @internal
   */
  readonly randomSource?: RandomSource;
}

/** What one lock, or one acquisition of it, may say otherwise. */
export interface LockOptions {
  /** See {@link HoldfastOptions.ttl}. */
  readonly ttl?: number;
  /** See {@link HoldfastOptions.renew}. */
  readonly renew?: boolean;
  /** Longest time that renewal keeps a lease; it ends then. Default: no limit. */
  readonly maxHold?: number;
  /**
   * Strict order of arrival, across all processes. Default `false`: a process may pass a lease on
   * among its own waiters, up to `localHandOffs` times.
   */
  readonly fair?: boolean;
  /**
   * The name of the holder, across acquisitions, processes and machines: an acquisition with the
   * owner of a live lease joins that lease as one more hold. A lease has up to 1,000 holds at one
   * time; a further one is refused. Up to 200 characters.
   */
  readonly owner?: string;
  /** Free text for whoever looks, see {@link HoldfastOptions.label}. */
  readonly label?: string;
  /**
   * Called once for each danger, before the lease ends: a renewal failed or is overdue, or the
   * lease is not renewed (any further). What it throws becomes a warning of the process.
   */
  readonly onExpiring?: (remaining: number) => void;
  /**
   * How long before the lease's end `onExpiring` is called; a renewal is overdue when a third of
   * the lease that the store last granted is left. Default: a third of the ttl.
   */
  readonly expiringBefore?: number;
}

/** What one acquisition may say. */
export interface AcquireOptions extends LockOptions {
  /**
   * Longest time to wait. Default: no limit for `acquire` and `run`, 0 for `tryAcquire`. The first
   * answer of the store is awaited in any case, for `requestTimeout` at most. If the store does not
   * answer at the end, the call rejects with `HOLDFAST_UNREACHABLE`.
   */
  readonly wait?: number;
  /** Gives the waiting up. Has no effect on what is held. */
  readonly signal?: AbortSignal;
}

/** All settings of a `Holdfast`, complete. */
export type Settings = Required<Omit<HoldfastOptions, 'closeOnSignals'>>;

/** All settings of one acquisition, complete. */
export interface ResolvedAcquireOptions {
  readonly ttl: number;
  readonly renew: boolean;
  readonly maxHold: number;
  readonly fair: boolean;
  readonly owner: string;
  readonly label: string;
  readonly onExpiring: ((remaining: number) => void) | undefined;
  readonly expiringBefore: number;
  readonly wait: number;
  readonly signal: AbortSignal | undefined;
}

const DAY = 86_400_000;

export function resolveSettings(options: HoldfastOptions): Settings {
  known('options', options, SETTINGS);
  const settings: Settings = {
    prefix: checkPrefix(text('prefix', options.prefix, PREFIX, 100)),
    ttl: duration('ttl', options.ttl, 10_000, 10, DAY),
    renew: flag('renew', options.renew, true),
    claimWindow: duration('claimWindow', options.claimWindow, 1000, 20, 60_000),
    requestTimeout: duration('requestTimeout', options.requestTimeout, 2000, 1, 600_000),
    unreachableAfter: duration('unreachableAfter', options.unreachableAfter, 10_000, 1, DAY),
    maxQueue: whole('maxQueue', options.maxQueue, 10_000, 1, 1_000_000),
    localHandOffs: whole('localHandOffs', options.localHandOffs, 8, 0, 1000),
    retention: duration('retention', options.retention, 60_000, 1000, DAY),
    linger: duration('linger', options.linger, 30_000, 0, DAY),
    label: text('label', options.label, '', TEXT_MAX),
    grace: duration('grace', options.grace, 10_000, 0, DAY),
    clock: checkClock(options.clock),
    randomSource: options.randomSource ?? systemRandomSource,
  };
  if (settings.retention < 3 * settings.claimWindow) {
    throw badOption('retention', `at least three times claimWindow`, settings.retention);
  }
  return Object.freeze(settings);
}

const SETTINGS: ReadonlySet<string> = new Set<keyof HoldfastOptions>([
  ...(['prefix', 'ttl', 'renew', 'claimWindow', 'requestTimeout', 'unreachableAfter'] as const),
  ...(['maxQueue', 'localHandOffs', 'retention', 'linger', 'label'] as const),
  ...(['closeOnSignals', 'grace', 'clock', 'randomSource'] as const),
]);

const LOCK: ReadonlySet<string> = new Set<keyof LockOptions>([
  ...([
    'ttl',
    'renew',
    'maxHold',
    'fair',
    'owner',
    'label',
    'onExpiring',
    'expiringBefore',
  ] as const),
]);

const ACQUIRE: ReadonlySet<string> = new Set<string>([...LOCK, 'wait', 'signal']);

/** Checks the options that a lock is made with. */
export function checkLockOptions(settings: Settings, options: LockOptions): void {
  known('options', options, LOCK);
  resolveTerms(settings, {}, options, 0);
}

/** Checks and completes the options of an acquisition; the later ones win. */
export function resolveTerms(
  settings: Settings,
  defaults: LockOptions,
  options: AcquireOptions,
  wait: number,
): ResolvedAcquireOptions {
  known('options', options, ACQUIRE);
  const o: AcquireOptions = over(defaults, options);
  const maxHold = duration('maxHold', o.maxHold, Number.POSITIVE_INFINITY, 10, DAY);
  const ttl = Math.ceil(Math.min(maxHold, duration('ttl', o.ttl, settings.ttl, 10, DAY)));
  const renew = flag('renew', o.renew, settings.renew);
  if (!renew && o.maxHold !== undefined) {
    throw badOption('maxHold', 'left out together with renew: false', o.maxHold);
  }
  if (o.signal !== undefined && !(o.signal instanceof AbortSignal)) {
    throw badOption('signal', 'an AbortSignal', o.signal);
  }
  if (o.onExpiring !== undefined && typeof o.onExpiring !== 'function') {
    throw badOption('onExpiring', 'a function', o.onExpiring);
  }
  return {
    ttl,
    renew,
    maxHold,
    fair: flag('fair', o.fair, false),
    owner: o.owner === undefined ? '' : checkOwner(o.owner),
    label: text('label', o.label, settings.label, TEXT_MAX),
    onExpiring: o.onExpiring,
    expiringBefore: duration('expiringBefore', o.expiringBefore, ttl / 3, 1, ttl),
    wait: duration('wait', o.wait, wait, 0, Number.MAX_SAFE_INTEGER),
    signal: o.signal,
  };
}

function checkClock(clock: Clock = systemClock): Clock {
  const whole = ['now', 'wall', 'after'].every(
    (name) => typeof (clock as unknown as Record<string, unknown> | null)?.[name] === 'function',
  );
  if (!whole) throw badOption('clock', 'a Clock', clock);
  return clock;
}
