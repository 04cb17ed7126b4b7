import type { CallOptions } from '../base/abort.js';
import type { RedisClient } from '../store/clients/detect.js';
import { type DoctorReport, examine } from './doctor.js';
import { badOption, isHoldfastError } from '../base/errors.js';
import { type Health, healthOf } from './health.js';
import { HoldfastCore, isStore } from './holdfast-core.js';
import { inspect, type ListOptions, type LockInfo } from '../primitives/inspection.js';
import { count, list } from '../primitives/listing.js';
import type { EmbeddedStore } from './memory.js';
import {
  checkCallback,
  checkKey,
  checkLockKey,
  duration,
  flag,
  known,
  TEXT_MAX,
  text,
} from '../base/checks.js';
import type { HoldfastOptions, LockOptions } from '../base/options.js';
import { AllOf } from '../primitives/all-of.js';
import type { Lease } from '../lease/lease.js';
import { Barrier, type BarrierOptions } from '../primitives/barrier.js';
import { Election, type ElectionOptions } from '../primitives/election.js';
import { explained } from '../primitives/explain.js';
import { type ForcedRelease, forceRelease } from '../primitives/force-release.js';
import { Latch, type LatchOptions } from '../primitives/latch.js';
import { Mutex } from '../primitives/mutex.js';
import { OwnerLocks } from '../primitives/owner-locks.js';
import type { MutexOptions, PlainMutex } from '../primitives/plain-mutex.js';
import { Schedule } from '../primitives/schedule.js';
import type { ScheduleOptions } from '../primitives/schedule-options.js';
import { RwLock } from '../primitives/rw-lock.js';
import { quorumStore } from './quorum.js';
import { redisStore } from './redis.js';
import { Semaphore, type SemaphoreOptions } from '../primitives/semaphore.js';
import { SingleFlight, type SingleFlightOptions } from '../primitives/single-flight.js';
import { checkSignals, closeOn } from '../base/signals.js';
import { type HoldfastStats, type KeyStats, statsByKey, statsOf } from './stats.js';
import type { Store } from '../store/port.js';

/** The result of `Holdfast.ready`. */
export interface Readiness {
  /** In ms, until the store granted or refused the lock. */
  readonly roundTrip: number;
  /**
   * False if messages of the store do not arrive: the user may not subscribe, or the connection
   * could not be opened. Waiters then poll once in a claim window.
   */
  readonly pushes: boolean;
}

export interface ForceReleaseOptions {
  /** The one lease to end, see `Lease.id`. Default: all leases of the key. */
  readonly id?: string | undefined;
  /**
   * The one holder to end, as `inspect` shows it: the process, regardless of which task has the
   * lock. Not together with `id`.
   */
  readonly holder?: string | undefined;
  /**
   * How long to wait, in ms, until the processes of the ended leases have confirmed the end.
   * Default 0.
   */
  readonly wait?: number | undefined;
  /** The reason in the holder's error. At most 200 characters. */
  readonly reason?: string | undefined;
}

const LIST_OPTIONS: ReadonlySet<string> = new Set(['onUnreadable', 'markers']);
const FORCE_OPTIONS: ReadonlySet<string> = new Set(['id', 'holder', 'wait', 'reason']);

/** The store answers also if another process checks at that time. */
const READY_KEY = 'holdfast ready';
const READY_PAUSE = 50;

/**
 * Distributed locks on one Redis or Valkey server, on a quorum of servers, or in memory.
 *
 * One instance serves a whole process. The first acquisition that waits opens one more connection,
 * with the settings of the given client.
 */
export class Holdfast extends HoldfastCore {
  readonly #ownerLocks: OwnerLocks;

  /**
   * @param where an ioredis (5, 6) or node-redis (5, 6) client; or an odd number of clients of
   *   independent servers, of which a minority may fail; or the result of `memory()` or `quorum()`
   * @throws HOLDFAST_BAD_OPTION if `where` is none of these, or an option is not valid
   */
  constructor(
    where: RedisClient | readonly RedisClient[] | EmbeddedStore,
    options: HoldfastOptions = {},
  ) {
    // before the store is in use
    const signals = checkSignals(options?.closeOnSignals);
    super(storeFor(where), options);
    this.#ownerLocks = new OwnerLocks(this.core);
    if (signals.length === 0) return;
    const remove = closeOn(signals, () => this.close());
    this.core.onClose(() => void this.core.closing?.then(remove, remove));
  }

  /**
   * Adds the holder and the place in the queue.
   * @internal
   */
  protected override explain(key: string, error: unknown): unknown {
    return explained(this.core, key, error);
  }

  /**
   * The mutex of a key. Like all methods that return a lock, it sends no request, and takes a key
   * of 1 to 1,024 bytes.
   */
  mutex(key: string, options: MutexOptions = {}): Mutex {
    return new Mutex(this.core, checkLockKey(key), options);
  }

  /**
   * A lock on several keys: an acquisition gets all of them or none, and cannot deadlock, in any
   * order of the keys. Options of an acquisition override those given here, and these those of a
   * mutex in `keys`.
   * @param keys 1 to 10,000 keys, or mutexes of this instance
   */
  allOf(keys: readonly (string | PlainMutex)[], options: LockOptions = {}): AllOf {
    return new AllOf(this.core, keys, options);
  }

  rwLock(key: string, options: LockOptions = {}): RwLock {
    return new RwLock(this.core, checkLockKey(key), options);
  }

  semaphore(key: string, options: SemaphoreOptions): Semaphore {
    return new Semaphore(this.core, checkLockKey(key), options);
  }

  election(key: string, options: ElectionOptions = {}): Election {
    return new Election(this.core, checkLockKey(key), options);
  }

  /** Locks with an explicit owner and no lease object, for code that is ported from Java. */
  get ownerLocks(): OwnerLocks {
    return this.#ownerLocks;
  }

  /** Many machines start the same job at the same time, and one of them runs it. */
  schedule(key: string, options: ScheduleOptions): Schedule {
    return new Schedule(this.core, checkLockKey(key), options);
  }

  /** Of many callers that need the same result, one computes it. */
  singleFlight(key: string, options: SingleFlightOptions = {}): SingleFlight {
    return new SingleFlight(this.core, checkLockKey(key), options);
  }

  /**
   * The count-down latch of a key. Latches and barriers have their own key space: a lock with the
   * same key is independent of them, and `inspect` and `list` do not show them.
   */
  latch(key: string, options: LatchOptions): Latch {
    return new Latch(this.core, checkLockKey(key), options);
  }

  /** The cyclic barrier of a key, see `latch` about keys. */
  barrier(key: string, options: BarrierOptions): Barrier {
    return new Barrier(this.core, checkLockKey(key), options);
  }

  /**
   * For a start-up check or a readiness probe: takes and releases the lock of a key of its own, and
   * opens the connection for wake-ups, which stays open as after `warmUp`. Rejects as
   * `Mutex.tryAcquire` does: `HOLDFAST_UNREACHABLE` if the store does not answer within
   * `requestTimeout`, `HOLDFAST_REFUSED` if the user of the server has too few rights.
   */
  async ready(): Promise<Readiness> {
    const { clock, requestTimeout } = this.core.settings;
    const from = clock.now();
    let start = from;
    const attempt = async (): Promise<Lease | null> => {
      start = clock.now();
      try {
        return await this.mutex(READY_KEY).tryAcquire();
      } catch (error) {
        // without an offline queue, a client that still connects rejects at once
        const again = clock.now() - from + READY_PAUSE < requestTimeout;
        if (!again || !isHoldfastError(error, 'HOLDFAST_UNREACHABLE')) throw error;
        await new Promise<void>((resolve) => void clock.after(READY_PAUSE, resolve));
        return attempt();
      }
    };
    const lease = await attempt();
    const roundTrip = clock.now() - start;
    await lease?.release();
    const pushes = await this.core.warmUp().catch(() => false);
    return { roundTrip, pushes };
  }

  /** What this instance holds and waits for, and what it has done. No request is sent. */
  stats(): HoldfastStats {
    return statsOf(this.core);
  }

  /** What this instance holds and waits for, for each key. No request is sent. */
  statsByKey(): ReadonlyMap<string, Readonly<KeyStats>> {
    return statsByKey(this.core);
  }

  /**
   * For a frequent health check: takes and frees a lock of this instance alone, and reports if the
   * store does not answer or grants no lock, renewals fail, or waiters have to poll. One round
   * trip; waits for no other holder, opens no connection, never rejects.
   */
  async health(): Promise<Health> {
    try {
      return await healthOf(this.core);
    } catch (error) {
      return { status: 'down', problems: [(error as Error).message], roundTrip: undefined };
    }
  }

  /**
   * Examines each server (of a quorum, or each master of a cluster), and reports what endangers
   * locks there: settings, rights, clocks, delays. `docs/doctor.md` lists the findings. Takes some
   * round trips to each server, and scans at most 20,000 names of keys. Writes only its own keys,
   * and removes them in the same step. A silent server is a finding, and no rejection.
   */
  async doctor(): Promise<DoctorReport> {
    return examine(this.core);
  }

  /**
   * The holders and the waiters of a lock, or `null` if it has none. The server that the client is
   * connected to answers, also a replica that is behind. Rejects with `HOLDFAST_REFUSED` if another
   * program wrote the key's record or it is damaged, and with `HOLDFAST_UNREACHABLE` if the store
   * does not answer.
   */
  async inspect(key: string, options?: CallOptions): Promise<LockInfo | null> {
    return inspect(this.core, checkKey(key), undefined, options);
  }

  /**
   * Yields the locks in use whose keys match a glob pattern (`*`, `?`, `[a-z]`; a backslash
   * escapes). Scans all keys of the server in steps, without blocking it. Not a snapshot. Keys that
   * another program wrote are skipped, see {@link ListOptions.onUnreadable}.
   */
  list(pattern = '*', options: ListOptions = {}): AsyncGenerator<LockInfo> {
    known('options', options, LIST_OPTIONS);
    flag('markers', options.markers, false);
    checkCallback('onUnreadable', options.onUnreadable);
    return list(this.core, checkKey(pattern, 'pattern'), options);
  }

  /**
   * How many locks match a pattern as in `list`: those in use, and those used within `retention`.
   * Reads names only.
   */
  async count(pattern = '*'): Promise<number> {
    return count(this.core, checkKey(pattern, 'pattern'));
  }

  /**
   * Ends all leases of a key, or the one with the given `id` or `holder`, and hands the lock to the
   * next waiter. The holder's signal aborts; the error names the reason, the label of this
   * instance, its host and its process. The next lease has a greater fence.
   *
   * A process hears of it at once if its wake connection is open: if it has held a lease for longer
   * than `claimWindow`, or has waited for one. Otherwise it hears at its next renewal, or when it
   * has held the lease for `claimWindow`. The result's `overlap` says what is certain.
   *
   * Rejects with `HOLDFAST_REFUSED` if `id` is that of a lease that has ended, or may have, while
   * another task of its process has the lock; with `HOLDFAST_UNREACHABLE` if that cannot be asked;
   * and with `HOLDFAST_UNCERTAIN` if the store does not answer: they may have been ended then.
   */
  async forceRelease(key: string, options: ForceReleaseOptions = {}): Promise<ForcedRelease> {
    known('options', options, FORCE_OPTIONS);
    const id = idOf('id', options.id);
    const holder = idOf('holder', options.holder);
    if (id !== '' && holder !== '') throw badOption('holder', 'left out together with id', holder);
    const reason = text('reason', options.reason, '', TEXT_MAX);
    const wait = duration('wait', options.wait, 0, 0, 86_400_000);
    checkKey(key);
    return forceRelease(this.core, key, { id, holder, reason, wait });
  }
}

function idOf(option: 'id' | 'holder', id: unknown): string {
  if (id === undefined) return '';
  // an empty root: all leases
  if (typeof id === 'string' && /^[^/]/.test(id)) return id;
  throw badOption(option, 'the id of an acquisition', id);
}

function storeFor(where: unknown): Store {
  if (isStore(where)) return where;
  if (Array.isArray(where)) return quorumStore(where, {}, 'where');
  return redisStore(where, 'where');
}
