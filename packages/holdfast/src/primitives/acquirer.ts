/**
 * Acquires permits of one resource for each kind of lock, and runs work under the lease. The
 * primitive says how many permits a call requests.
 */
import type { Core } from '../acquire/core.js';
import type { LockKind } from '../engine/kinds.js';
import { badOption, isHoldfastError } from '../base/errors.js';
import type { Hold } from '../lease/root.js';
import type { Lease } from '../lease/lease.js';
import {
  type AcquireOptions,
  checkLockOptions,
  type LockOptions,
  resolveTerms,
  type ResolvedAcquireOptions,
} from '../base/options.js';
import * as failures from '../acquire/failures.js';
import type { AcquireRequest } from '../acquire/call.js';

export interface Subject {
  readonly key: string;
  readonly kind: LockKind;
  readonly capacity: number;
  readonly option?: string;
  /** Always served in the order of arrival. */
  readonly strict?: boolean;
  readonly candidate?: boolean;
  readonly maxHold?: number | undefined;
  readonly send?: (request: AcquireRequest) => Promise<Hold | null>;
}

/** A shorter ttl may have been meant in seconds. */
const SHORT_MS = 100;

type AcquireEvents = Pick<AcquireRequest, 'onProgress' | 'onBegun'>;
const NO_EVENTS: AcquireEvents = {};

export type Work<T, L extends Lease = Lease> = (lease: L) => T | Promise<T>;

type LeaseClass<L extends Lease> = new (hold: Hold, core: Core) => L;

export class Acquirer<L extends Lease> {
  readonly core: Core;
  readonly #subject: Subject;
  readonly #options: LockOptions;
  readonly #Lease: LeaseClass<L>;
  readonly #defaults = new Map<number, ResolvedAcquireOptions>();

  constructor(core: Core, subject: Subject, options: LockOptions, type: LeaseClass<L>) {
    checkLockOptions(core.settings, options);
    this.core = core;
    this.#subject = subject;
    this.#options = options;
    this.#Lease = type;
  }

  get key(): string {
    return this.#subject.key;
  }

  acquire(weight: number, options?: AcquireOptions, events?: AcquireEvents): Promise<L> {
    try {
      const asked = this.#request(weight, options, Number.POSITIVE_INFINITY, events);
      return asked.then(this.#granted, this.#failed);
    } catch (error) {
      return this.#failed(error);
    }
  }

  readonly #granted = (hold: Hold | null): L => {
    if (hold === null) throw failures.timedOut(this.key, 0);
    return new this.#Lease(hold, this.core);
  };

  readonly #failed = async (error: unknown): Promise<never> => {
    throw await this.core.explain(this.key, error);
  };

  async tryAcquire(weight: number, options?: AcquireOptions): Promise<L | null> {
    try {
      const hold = await this.#request(weight, options, 0);
      return hold === null ? null : new this.#Lease(hold, this.core);
    } catch (error) {
      if (isHoldfastError(error, 'HOLDFAST_TIMEOUT')) return null;
      throw failures.atCaller(error);
    }
  }

  async run<T>(weight: number, work: Work<T, L>, options?: AcquireOptions): Promise<T> {
    checkWork(work);
    return this.core.telemetry.run(this.key, async () =>
      workUnder(await this.acquire(weight, options), work, options?.signal),
    );
  }

  terms(options: AcquireOptions | undefined, wait: number): ResolvedAcquireOptions {
    if (options !== undefined) {
      const terms = resolveTerms(
        this.core.settings,
        this.#options,
        options,
        wait,
        this.#subject.maxHold,
      );
      const { telemetry } = this.core;
      if (terms.ttl < SHORT_MS) telemetry.warn('short', this.key, terms.ttl);
      return this.#subject.strict ? { ...terms, fair: true } : terms;
    }
    let terms = this.#defaults.get(wait);
    if (terms === undefined) {
      terms = this.terms({}, wait);
      this.#defaults.set(wait, terms);
    }
    return terms;
  }

  #request(
    weight: number,
    options: AcquireOptions | undefined,
    wait: number,
    events: AcquireEvents = NO_EVENTS,
  ): Promise<Hold | null> {
    const terms = this.terms(options, wait);
    const { key, kind, capacity, option, candidate, send } = this.#subject;
    const { onProgress, onBegun } = events;
    const request = { key, kind, capacity, weight, terms, option, candidate, onProgress, onBegun };
    return send === undefined ? this.core.acquisitions.acquire(request) : send(request);
  }
}

export function checkWork(work: unknown): void {
  if (typeof work !== 'function') throw badOption('work', 'a function', work);
}

interface Releasable {
  readonly loss: Error;
  follow(signal: AbortSignal): () => void;
  release(): Promise<unknown>;
}

/**
 * Releases also if the work throws. Rejects if the lease was lost before.
 * @param signal aborts the lease's signal while the work runs
 */
export async function workUnder<T, L extends Releasable>(
  lease: L,
  work: (lease: L) => T | Promise<T>,
  signal: AbortSignal | undefined,
  isLost = (outcome: unknown): boolean => outcome === 'lost',
): Promise<T> {
  const unfollow = signal && lease.follow(signal);
  let result: T;
  try {
    result = await work(lease);
  } catch (error) {
    await quietly(lease.release());
    throw error;
  } finally {
    unfollow?.();
  }
  if (isLost(await quietly(lease.release()))) throw lease.loss;
  return result;
}

export async function quietly<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise;
  } catch {
    return undefined;
  }
}
