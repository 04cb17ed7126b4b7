/**
 * What the faces of locks share: asking for permits on the terms of the lock and of the call, and
 * working under a lease.
 *
 * A face knows a key, a capacity and the options of its lock, checked once. How many permits a call
 * asks for is the primitive's to say. No state of its own: what is held is the lease's, what is
 * waited for is the core's.
 */
import type { Core } from '../core.js';
import { badOption, isHoldfastError } from '../errors.js';
import type { LeaseRecord } from '../lease/lease-record.js';
import { Lease } from '../lease/lease.js';
import {
  type AcquireOptions,
  checkLockOptions,
  type LockOptions,
  resolveTerms,
  type ResolvedAcquireOptions,
} from '../options.js';
import * as failures from '../acquire/failures.js';
import type { AcquireRequest } from '../acquire/acquisition.js';

/** What a face asks for. */
export interface Subject {
  readonly key: string;
  readonly capacity: number;
  /** What the user calls the capacity, if it is the user's to choose. */
  readonly option?: string;
  /** True if there is no other mode than strict order of arrival. */
  readonly strict?: boolean;
}

/** Work under a lease. */
export type Work<T, L extends Lease = Lease> = (lease: L) => T | Promise<T>;

/** Asks for permits of one resource; its leases are of the kind that `make` makes. */
export class Acquirer<L extends Lease> {
  readonly core: Core;
  readonly #subject: Subject;
  readonly #options: LockOptions;
  readonly #make: (record: LeaseRecord, core: Core) => L;
  /** What calls without options of their own ask for, by how long they wait. */
  readonly #usual = new Map<number, ResolvedAcquireOptions>();

  /** Throws `HOLDFAST_BAD_OPTION` for options that are wrong. */
  constructor(
    core: Core,
    subject: Subject,
    options: LockOptions,
    make: (record: LeaseRecord, core: Core) => L,
  ) {
    checkLockOptions(core.settings, options);
    this.core = core;
    this.#subject = subject;
    this.#options = options;
    this.#make = make;
  }

  get key(): string {
    return this.#subject.key;
  }

  /**
   * Waits for as long as it takes, or for `wait` ms; rejects if that is not enough.
   * @param told see `Wanted`
   */
  async acquire(
    weight: number,
    options?: AcquireOptions,
    told?: AcquireRequest['told'],
  ): Promise<L> {
    const lease = await this.#acquire(weight, options, Number.POSITIVE_INFINITY, told);
    if (lease === null) throw failures.timedOut(this.key, 0);
    return lease;
  }

  /** Waits for `wait` ms, 0 unless given; resolves to `null` if that is not enough. */
  async tryAcquire(weight: number, options?: AcquireOptions): Promise<L | null> {
    try {
      return await this.#acquire(weight, options, 0);
    } catch (error) {
      if (isHoldfastError(error, 'HOLDFAST_TIMEOUT')) return null;
      throw error;
    }
  }

  /**
   * Acquires, does the work, and releases, also when the work throws. Rejects if the lease was lost
   * before the work had ended.
   */
  async run<T>(weight: number, work: Work<T, L>, options?: AcquireOptions): Promise<T> {
    checkWork(work);
    const lease = await this.acquire(weight, options);
    let result: T;
    try {
      result = await work(lease);
    } catch (error) {
      await quietly(lease.release());
      throw error;
    }
    if ((await quietly(lease.release())) === 'lost') throw lease.loss;
    return result;
  }

  /** The terms of one call: what it says itself, then what its lock says. */
  terms(options: AcquireOptions | undefined, wait: number): ResolvedAcquireOptions {
    if (options !== undefined) {
      const terms = resolveTerms(this.core.settings, this.#options, options, wait);
      return this.#subject.strict ? { ...terms, fair: true } : terms;
    }
    let terms = this.#usual.get(wait);
    if (terms === undefined) {
      terms = this.terms({}, wait);
      this.#usual.set(wait, terms);
    }
    return terms;
  }

  async #acquire(
    weight: number,
    options: AcquireOptions | undefined,
    wait: number,
    told?: AcquireRequest['told'],
  ): Promise<L | null> {
    const terms = this.terms(options, wait);
    const { key, capacity, option } = this.#subject;
    const extras = { ...(option && { option }), ...(told && { told }) };
    const request = { key, capacity, weight, terms, ...extras };
    const record = await this.core.acquire(request);
    return record === null ? null : this.#make(record, this.core);
  }
}

/** The leases of a lock that has no other kind. */
export function plainLease(record: LeaseRecord, core: Core): Lease {
  return new Lease(record, core);
}

/** Throws `HOLDFAST_BAD_OPTION` unless the work is a function. */
export function checkWork(work: unknown): void {
  if (typeof work !== 'function') throw badOption('work', 'a function', work);
}

/** A release's outcome; what it could not find out is nobody's concern here. */
export async function quietly<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch {
    return undefined;
  }
}
