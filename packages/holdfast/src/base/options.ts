/**
 * The options of a `Holdfast`, of a lock and of an acquisition. The settings of a `Holdfast` are
 * resolved once and frozen. All durations are in milliseconds.
 */
import { type RandomSource, systemRandomSource } from './random-source.js';
import {
  checkCallback,
  checkClock,
  checkOwner,
  checkSignal,
  duration,
  flag,
  known,
  TEXT_MAX,
  text,
  whole,
} from './checks.js';
import type { Clock } from './clock.js';
import { badOption, type HoldfastError } from './errors.js';
import type { HoldfastWarning } from './warning.js';
import { over } from './given.js';
import { checkPrefix, PREFIX } from './prefix.js';

export interface HoldfastOptions {
  /**
   * The prefix of all key and channel names in the store: at most 100 characters, without braces
   * and control characters. Default `holdfast:`.
   */
  readonly prefix?: string | undefined;
  /**
   * The length of a lease. If a holder crashes, its lock is free after this time. 10 to 86,400,000;
   * default 10,000.
   */
  readonly ttl?: number | undefined;
  /** Whether held leases are renewed. Default `true`. */
  readonly renew?: boolean | undefined;
  /**
   * The first length of a lease that is granted to a waiter, if shorter than `ttl`; renewal extends
   * it. A frozen waiter blocks the queue for this time. Waiters also poll the store at this
   * interval. A lease with `renew: false` starts with its full `ttl`. 20 to 60,000; default 1,000.
   */
  readonly claimWindow?: number | undefined;
  /**
   * The longest time to wait for the answer to one request, from when it is sent; independent of
   * the client's timeouts. Default 2,000.
   */
  readonly requestTimeout?: number | undefined;
  /**
   * The most requests under way at one server, besides renewals and polls. Others wait in order; a
   * release goes before an acquisition of another key. 1 to 1,000,000; default 2,000.
   */
  readonly maxRequests?: number | undefined;
  /**
   * A waiting acquisition rejects with `HOLDFAST_UNREACHABLE` after this time without an answer of
   * the store. Default 10,000.
   */
  readonly unreachableAfter?: number | undefined;
  /**
   * The most acquisitions of this process that wait for one mutex, and the longest queue of a key
   * in the store, where tasks of a process that wait for a mutex together count once. Further ones
   * are rejected with `HOLDFAST_REFUSED`. Default 10,000.
   */
  readonly maxQueue?: number | undefined;
  /**
   * How many times in a row a process may hand a lease off to its own waiters, without a command,
   * before the store grants the next lease in queue order. So in the default mode, at most this
   * many later waiters overtake a waiter for each grant before its own. From the ninth on, they
   * must follow within 5 ms of the grant. A lease that is granted while no other acquisition waits
   * may be handed off eight times as often, at most 128 times or this number, at any time. A `fair`
   * lease goes only to waiters that are next in the queue. 0 to 1,000; default 64.
   */
  readonly localHandOffs?: number | undefined;
  /**
   * How long the store remembers a key after its last use. Fences keep growing unless the server's
   * clock is set back by more. 1,000 to 86,400,000; at least three times `claimWindow`; default
   * 60,000.
   */
  readonly retention?: number | undefined;
  /** How long the wake connection stays open after the last waiter. Default 30,000. */
  readonly linger?: number | undefined;
  /**
   * Free text that `inspect` and `list` show, such as the name of the service or job. At most 200
   * characters.
   */
  readonly label?: string | undefined;
  /**
   * Closes this instance when the process receives one of these signals. When all instances are
   * closed, the signal ends the process as usual, unless the program has its own handler. Default:
   * none.
   */
  readonly closeOnSignals?: readonly NodeJS.Signals[] | undefined;
  /** The default of `wait` for mutexes, semaphores, read-write locks, `allOf`. */
  readonly wait?: number | undefined;
  /** The default of `fair` for these locks. */
  readonly fair?: boolean | undefined;
  /** The default of `maxHold` for these locks, unless `renew` is false. */
  readonly maxHold?: number | undefined;
  /**
   * After this wait for a lock, `onWarning` is called: once for each call, and at most once in this
   * time. `Infinity` for never. Default 3,000.
   */
  readonly longWait?: number | undefined;
  /** The default of `longHold` for these locks. Default 300,000; `Infinity` for no limit. */
  readonly longHold?: number | undefined;
  /**
   * Called when a lease of this instance is lost: its work may go on beside that of another holder.
   * An exception that it throws becomes a warning. `lease.signal` aborts, and `run` rejects, in any
   * case.
   */
  readonly onLost?: ((lost: LostLease) => void) | undefined;
  /**
   * Called with warnings, see `HoldfastWarningCode`, which are published on the channel
   * `holdfast:warning` of `diagnostics_channel` too. Nothing is printed.
   */
  readonly onWarning?: ((warning: HoldfastWarning) => void) | undefined;
  /**
   * How many replicas must have a grant before it counts. A grant that fewer have is released, and
   * the call rejects with `HOLDFAST_UNACKNOWLEDGED`. Default 0.
   */
  readonly replicas?: number | undefined;
  /**
   * With `replicas`: how long a master must have had its memory before a grant counts, in ms. After
   * the start of a master, also the first one, calls get no lock for this time: they wait, and
   * reject with `HOLDFAST_UNREACHABLE` after `unreachableAfter`. At least the longest ttl of other
   * processes' locks; 0 switches it off, which makes restarts unsafe. Up to 86,400,000. Default:
   * the ttl of the lock.
   */
  readonly restartGuard?: number | undefined;
  /**
   * By how many ms the clocks of the servers may differ, if one may continue the locks of another.
   * A lease lasts longer in the store by this time than its holder believes, so it does not end
   * early at a server whose clock is ahead by less. A crashed holder's lock is free after its ttl
   * and this time. Equal in all processes. 0 to 60,000; default 0.
   */
  readonly clockMargin?: number | undefined;
  /** How long `close()` waits for holders to release. Default 10,000. */
  readonly grace?: number | undefined;
  readonly clock?: Clock | undefined;
  /** For simulations. @internal */
  readonly randomSource?: RandomSource | undefined;
}

export interface LostLease {
  readonly key: string;
  /** See `Lease.id`. */
  readonly id: string;
  readonly fence: number;
  /** The `HOLDFAST_LOST` error with which `lease.signal` aborts. It says why. */
  readonly error: HoldfastError;
  /** Ms from the grant to the loss. */
  readonly held: number;
}

/** Options of one lock, or of one acquisition. They override those of the `Holdfast`. */
export interface LockOptions {
  /** See {@link HoldfastOptions.ttl}. */
  readonly ttl?: number | undefined;
  /** See {@link HoldfastOptions.renew}. */
  readonly renew?: boolean | undefined;
  /** The longest time for which a lease is renewed; then it ends. Default: no limit. */
  readonly maxHold?: number | undefined;
  /**
   * Strict order of arrival across all processes. Default `false`: the waiters of one process may
   * come first, see {@link HoldfastOptions.localHandOffs}.
   */
  readonly fair?: boolean | undefined;
  /**
   * Shares one lease between all acquisitions with the same name, in all processes: they do not
   * exclude each other. Each is a hold, and the lock stays held until all are released. They join
   * ahead of the queue, also with `fair`: overlapping ones can keep others waiting without end. The
   * 1,001st is rejected with `HOLDFAST_REFUSED`. At most 200 characters. To name a holder without
   * sharing, use `label`. Default: not shared.
   */
  readonly sharedBy?: string | undefined;
  /** See {@link HoldfastOptions.label}. */
  readonly label?: string | undefined;
  /**
   * The longest time to wait in `acquire` and `run`. Of a lock, the default of its acquisitions,
   * but not of `tryAcquire`. Default: no limit.
   */
  readonly wait?: number | undefined;
  /**
   * Called when the lease is in danger of ending: a renewal failed or is overdue, or the lease is
   * not renewed (any longer). Gets the remaining time in ms, once until the danger is over. An
   * exception that it throws becomes a warning.
   */
  readonly onExpiring?: ((remaining: number) => void) | undefined;
  /**
   * How long before the end of the lease `onExpiring` is called. A renewal is overdue when a third
   * of the last granted time remains. Default: a third of the ttl.
   */
  readonly expiringBefore?: number | undefined;
  /**
   * After this time `onWarning` is called because the lock is still held; checked at renewal and
   * release. Default: that of the instance.
   */
  readonly longHold?: number | undefined;
}

export interface AcquireOptions extends LockOptions {
  /**
   * The longest time to wait. Default: that of the lock, or no limit, for `acquire` and `run`; 0
   * for `tryAcquire`. In any case the call waits for the store's first answer, for at most
   * `requestTimeout`; and if the wake connection is not open at the end of the wait, it asks once
   * more. If the store does not answer then, it rejects with `HOLDFAST_UNREACHABLE`.
   */
  readonly wait?: number | undefined;
  /**
   * Aborts the wait: the call rejects with `HOLDFAST_ABORTED`. It does not end a granted lease; in
   * `run` it aborts `lease.signal`.
   */
  readonly signal?: AbortSignal | undefined;
}

export type Settings = {
  readonly [K in Exclude<keyof HoldfastOptions, Apart>]-?: NonNullable<HoldfastOptions[K]>;
} & {
  readonly defaults: LockOptions;
  readonly onWarning: HoldfastOptions['onWarning'];
  readonly onLost: HoldfastOptions['onLost'];
  readonly restartGuard: HoldfastOptions['restartGuard'];
};
type Apart =
  | 'closeOnSignals'
  | 'restartGuard'
  | 'onWarning'
  | 'onLost'
  | 'wait'
  | 'fair'
  | 'maxHold'
  | 'longHold';

export interface ResolvedAcquireOptions {
  readonly ttl: number;
  readonly renew: boolean;
  readonly maxHold: number;
  readonly fair: boolean;
  /** The `sharedBy` option, or `''`. */
  readonly owner: string;
  readonly label: string;
  readonly onExpiring: ((remaining: number) => void) | undefined;
  readonly expiringBefore: number;
  readonly longHold: number;
  readonly wait: number;
  readonly signal: AbortSignal | undefined;
}

const DAY = 86_400_000;
const LONG_HOLD = 300_000;

export function resolveSettings(options: HoldfastOptions): Settings {
  known('options', options, SETTINGS);
  const settings: Settings = {
    prefix: checkPrefix(text('prefix', options.prefix, PREFIX, 100)),
    ttl: duration('ttl', options.ttl, 10_000, 10, DAY),
    renew: flag('renew', options.renew, true),
    claimWindow: duration('claimWindow', options.claimWindow, 1000, 20, 60_000),
    requestTimeout: duration('requestTimeout', options.requestTimeout, 2000, 1, 600_000),
    maxRequests: whole('maxRequests', options.maxRequests, 2000, 1, 1_000_000),
    unreachableAfter: duration('unreachableAfter', options.unreachableAfter, 10_000, 1, DAY),
    maxQueue: whole('maxQueue', options.maxQueue, 10_000, 1, 1_000_000),
    localHandOffs: whole('localHandOffs', options.localHandOffs, 64, 0, 1000),
    retention: Math.ceil(duration('retention', options.retention, 60_000, 1000, DAY)),
    linger: duration('linger', options.linger, 30_000, 0, DAY),
    label: text('label', options.label, '', TEXT_MAX),
    replicas: whole('replicas', options.replicas, 0, 0, 100),
    restartGuard:
      options.restartGuard === undefined
        ? undefined
        : duration('restartGuard', options.restartGuard, 0, 0, DAY),
    clockMargin: Math.ceil(duration('clockMargin', options.clockMargin, 0, 0, 60_000)),
    grace: duration('grace', options.grace, 10_000, 0, DAY),
    longWait: duration('longWait', options.longWait, 3000, 1, Number.MAX_SAFE_INTEGER),
    onWarning: options.onWarning,
    onLost: options.onLost,
    defaults: defaultsOf(options),
    clock: checkClock(options.clock),
    randomSource: options.randomSource ?? systemRandomSource,
  };
  if (settings.retention < 3 * settings.claimWindow) {
    throw badOption('retention', `at least three times claimWindow`, settings.retention);
  }
  checkCallback('onWarning', settings.onWarning);
  checkCallback('onLost', settings.onLost);
  return Object.freeze(settings);
}

const SETTINGS: ReadonlySet<string> = new Set<keyof HoldfastOptions>([
  ...(['prefix', 'ttl', 'renew', 'claimWindow', 'requestTimeout', 'unreachableAfter'] as const),
  ...(['maxQueue', 'localHandOffs', 'retention', 'linger', 'label'] as const),
  ...(['closeOnSignals', 'grace', 'clock', 'randomSource', 'wait', 'fair', 'maxHold'] as const),
  ...(['longWait', 'longHold', 'onWarning', 'onLost', 'replicas', 'restartGuard'] as const),
  ...(['clockMargin', 'maxRequests'] as const),
]);

export const LOCK: ReadonlySet<string> = new Set<keyof LockOptions>([
  ...(['wait', 'ttl', 'renew', 'maxHold', 'fair', 'sharedBy', 'label'] as const),
  ...(['onExpiring', 'expiringBefore', 'longHold'] as const),
]);

export const ACQUIRE: ReadonlySet<string> = new Set<string>([...LOCK, 'signal']);

function defaultsOf({ wait, fair, maxHold, ...options }: HoldfastOptions): LockOptions {
  const longHold = duration('longHold', options.longHold, LONG_HOLD, 1, Number.MAX_SAFE_INTEGER);
  duration('wait', wait, 0, 0, Number.MAX_SAFE_INTEGER);
  duration('maxHold', maxHold, 0, 10, DAY);
  flag('fair', fair, false);
  return Object.freeze({ wait, fair, maxHold, longHold });
}

/**
 * Without `maxHold`: whether its default applies depends on the acquisition, see `resolveTerms`.
 */
export function withDefaults<O extends LockOptions>({ defaults }: Settings, options: O): O {
  return over({ ...defaults, maxHold: undefined }, options);
}

export function checkLockOptions(settings: Settings, options: LockOptions): void {
  known('options', options, LOCK);
  resolveTerms(settings, {}, options, Number.POSITIVE_INFINITY);
}

/** @param usualMaxHold the default of `maxHold` for a renewed lease */
export function resolveTerms(
  settings: Settings,
  defaults: LockOptions,
  options: AcquireOptions,
  wait: number,
  usualMaxHold: number = Number.POSITIVE_INFINITY,
): ResolvedAcquireOptions {
  known('options', options, ACQUIRE);
  const o: AcquireOptions = over(defaults, options);
  const renew = flag('renew', o.renew, settings.renew);
  const longest = renew ? usualMaxHold : Number.POSITIVE_INFINITY;
  const maxHold = duration('maxHold', o.maxHold, longest, 10, DAY);
  const ttl = Math.ceil(Math.min(maxHold, duration('ttl', o.ttl, settings.ttl, 10, DAY)));
  if (!renew && o.maxHold !== undefined) {
    throw badOption('maxHold', 'left out together with renew: false', o.maxHold);
  }
  checkSignal(o.signal);
  checkCallback('onExpiring', o.onExpiring);
  return {
    ttl,
    renew,
    maxHold,
    fair: flag('fair', o.fair, false),
    owner: o.sharedBy === undefined ? '' : checkOwner(o.sharedBy, 'sharedBy'),
    label: text('label', o.label, settings.label, TEXT_MAX),
    onExpiring: o.onExpiring,
    expiringBefore: duration('expiringBefore', o.expiringBefore, ttl / 3, 1, ttl),
    longHold: duration('longHold', o.longHold, Infinity, 1, Number.MAX_SAFE_INTEGER),
    wait: duration('wait', wait === 0 ? options.wait : o.wait, wait, 0, Number.MAX_SAFE_INTEGER),
    signal: o.signal,
  };
}
