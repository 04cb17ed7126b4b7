/** What a user constructs. */
import { portFor } from './clients/detect.js';
import { Core } from './core.js';
import { badOption, HoldfastError } from './errors.js';
import * as inspection from './inspection.js';
import type { ListOptions, LockInfo } from './inspection.js';
import { checkKey, checkObject, duration } from './checks.js';
import { type HoldfastOptions, type LockOptions, resolveSettings } from './options.js';
import { PREFIX } from './prefix.js';
import { AllOf } from './primitives/all-of.js';
import { Barrier, type BarrierOptions } from './primitives/barrier.js';
import { Election, type ElectionOptions } from './primitives/election.js';
import { Latch, type LatchOptions } from './primitives/latch.js';
import { Mutex, type MutexOptions } from './primitives/mutex.js';
import { OwnerLocks } from './primitives/owner-locks.js';
import { Schedule, type ScheduleOptions } from './primitives/schedule.js';
import { RwLock } from './primitives/rw-lock.js';
import { Semaphore, type SemaphoreOptions } from './primitives/semaphore.js';
import { SingleFlight, type SingleFlightOptions } from './primitives/single-flight.js';
import { checkSignals, closeOn } from './signals.js';
import { MemoryStore } from './store/memory/memory-store.js';
import type { Store } from './store/port.js';
import { RedisStore } from './store/redis/redis-store.js';

/** An ioredis or node-redis client, connected or about to be. Holdfast never closes it. */
export type RedisClient = object;

/** A store in memory, see {@link memory}. */
export interface EmbeddedStore {
  /** What it is called in messages. */
  readonly label: string;
}

/**
 * The embedded store: locks between those in this process that share it. Instances with different
 * prefixes share nothing.
 */
export function memory(): EmbeddedStore {
  return new MemoryStore();
}

/**
 * Distributed locks on one Redis or Valkey, or in memory.
 *
 * One instance serves a whole process. It uses the client that it is given, and opens one more
 * connection (with the client's own settings) when somebody first has to wait.
 */
export class Holdfast implements AsyncDisposable {
  readonly #core: Core;
  readonly #calls: OwnerLocks;
  readonly #removeSignals: () => void;

  /**
   * @param where an ioredis (5, 6) or node-redis (5, 6) client, or {@link memory}
   * @throws HOLDFAST_BAD_OPTION for what is neither, and for options that are wrong
   */
  constructor(where: RedisClient | EmbeddedStore, options: HoldfastOptions = {}) {
    const settings = resolveSettings(options);
    this.#core = new Core(storeFor(where, settings.prefix), settings);
    this.#calls = new OwnerLocks(this.#core);
    this.#removeSignals = closeOn(checkSignals(options.closeOnSignals), () => this.close());
  }

  /**
   * The mutex of a key.
   * @param key non-empty, of at most 1,024 bytes
   */
  mutex(key: string, options: MutexOptions = {}): Mutex {
    return new Mutex(this.#core, checkKey(key), options);
  }

  /**
   * The locks of several keys, taken all or none, without deadlock in whatever order they are
   * named. Mutexes bring their own options; what is said here, and then by the call, wins.
   * @param keys 1 to 10,000 keys, or mutexes of this instance; a key named twice counts once
   */
  allOf(keys: readonly (string | Mutex)[], options: LockOptions = {}): AllOf {
    return new AllOf(this.#core, keys, options);
  }

  /**
   * The read-write lock of a key.
   * @param key non-empty, of at most 1,024 bytes
   */
  rwLock(key: string, options: LockOptions = {}): RwLock {
    return new RwLock(this.#core, checkKey(key), options);
  }

  /**
   * The semaphore of a key.
   * @param key non-empty, of at most 1,024 bytes
   */
  semaphore(key: string, options: SemaphoreOptions): Semaphore {
    return new Semaphore(this.#core, checkKey(key), options);
  }

  /**
   * The election of a leader for a key.
   * @param key non-empty, of at most 1,024 bytes
   */
  election(key: string, options: ElectionOptions = {}): Election {
    return new Election(this.#core, checkKey(key), options);
  }

  /** Calls with an explicit owner and no lease object, for those who port from Java. */
  get calls(): OwnerLocks {
    return this.#calls;
  }

  /**
   * Work that a scheduler fires on many machines, and that one of them should do.
   * @param key non-empty, of at most 1,024 bytes
   */
  schedule(key: string, options: ScheduleOptions): Schedule {
    return new Schedule(this.#core, checkKey(key), options);
  }

  /**
   * Makes one of many compute what all of them want.
   * @param key non-empty, of at most 1,024 bytes
   */
  singleFlight(key: string, options: SingleFlightOptions = {}): SingleFlight {
    return new SingleFlight(this.#core, checkKey(key), options);
  }

  /**
   * The count-down latch of a key. Latches and barriers have keys of their own: a lock of the same
   * key is something else, and `inspect` and `list` do not show them.
   * @param key non-empty, of at most 1,024 bytes
   */
  latch(key: string, options: LatchOptions): Latch {
    return new Latch(this.#core, checkKey(key), options);
  }

  /**
   * The cyclic barrier of a key. Its keys are no keys of locks, as those of latches are not.
   * @param key non-empty, of at most 1,024 bytes
   */
  barrier(key: string, options: BarrierOptions): Barrier {
    return new Barrier(this.#core, checkKey(key), options);
  }

  /**
   * The holders and the waiters of a lock; `null` if it has none. Changes nothing. Rejects with
   * `HOLDFAST_REFUSED` if another program wrote the key's record, or it was damaged.
   */
  async inspect(key: string): Promise<LockInfo | null> {
    return inspection.inspect(this.#core, checkKey(key));
  }

  /**
   * The locks in use whose keys match a glob pattern (`*`, `?`, `[a-z]`; a backslash escapes).
   * Walks through all keys of the server in steps, without blocking it; not a snapshot. Keys that
   * another program wrote are skipped, see {@link ListOptions.onUnreadable}.
   */
  list(pattern = '*', options: ListOptions = {}): AsyncGenerator<LockInfo> {
    const { onUnreadable } = options;
    if (onUnreadable !== undefined && typeof onUnreadable !== 'function') {
      throw badOption('onUnreadable', 'a function', onUnreadable);
    }
    return inspection.list(this.#core, checkKey(pattern, 'pattern'), options);
  }

  /**
   * Ends the lease of a key, or one of them, without its holder's consent, and hands the lock to
   * the next waiter. The holder's signal aborts at once if its process can be reached by push, and
   * at its next renewal otherwise; its fence is lower than the next one. Resolves to the number of
   * leases ended. Rejects with `HOLDFAST_UNCERTAIN` without answer.
   */
  async forceRelease(key: string, options: { readonly id?: string } = {}): Promise<number> {
    checkObject('options', options);
    const { id } = options;
    if (id !== undefined && (typeof id !== 'string' || id === '')) {
      throw badOption('id', 'the id of an acquisition', id);
    }
    return inspection.forceRelease(this.#core, checkKey(key), id ?? '');
  }

  /**
   * Opens the connection on which waiters are woken, which otherwise the first acquisition that has
   * to wait opens, three round trips or more before its wake-up can arrive. It stays open until
   * `close()`, whatever `linger` says. Not needed for correctness, nor in memory.
   *
   * Rejects with `HOLDFAST_UNREACHABLE` if the connection cannot be opened at once or within
   * `unreachableAfter`; attempts go on, and acquisitions work by polling meanwhile.
   */
  warmUp(): Promise<void> {
    return this.#core.warmUp();
  }

  /**
   * Ends this instance: waiting acquisitions are rejected with `HOLDFAST_CLOSED`, leaders step
   * down, and leases are renewed further until their holders release them, for `grace` ms at most;
   * what is left then is released, and its signal aborts. After it no timer, listener or connection
   * of ours is left. The client that was given stays open.
   */
  async close(options: { readonly grace?: number } = {}): Promise<void> {
    checkObject('options', options);
    const grace = duration('grace', options.grace, this.#core.settings.grace, 0, 86_400_000);
    this.#removeSignals();
    await this.#core.close(grace);
  }

  /** Closes at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function storeFor(where: unknown, prefix: string): Store {
  if (where instanceof MemoryStore) return prefix === PREFIX ? where : where.space(prefix);
  if (isStore(where)) return where;
  if (Array.isArray(where)) {
    throw badOption(
      'where',
      'one client or memory(): several servers are not supported yet',
      where,
    );
  }
  try {
    return new RedisStore(portFor(where), prefix);
  } catch (error) {
    const message = `Holdfast: ${error instanceof Error ? error.message : String(error)}`;
    throw new HoldfastError('HOLDFAST_BAD_OPTION', message, { option: 'where', cause: error });
  }
}

function isStore(where: unknown): where is Store {
  const store = where as Partial<Store> | null | undefined;
  return typeof store?.execute === 'function' && typeof store.listen === 'function';
}
