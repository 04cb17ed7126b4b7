/**
 * The gauges. They are read when the metrics are collected: nothing is counted meanwhile.
 *
 * A meter has one value for each name and its attributes. So all instances of Holdfast that use a
 * meter are added up; each with gauges of its own would overwrite the others.
 */
import type { Meter, Observable, ObservableResult } from '@opentelemetry/api';
import type { AcquireMessage } from 'holdfast';
import { listen } from './channels.js';
import type { Instrumented } from './instrument.js';
import type { LockName } from './lock-name.js';

/** An instance that is observed. */
interface Source {
  readonly holdfast: Instrumented;
  readonly nameOf: LockName;
}

/** The values of one lock name. */
interface Sums {
  held: number;
  waiting: number;
  permits: number;
  /** The permits of a semaphore; 0 for another lock. */
  limit: number;
}

/** A single flight has so many, and a read-write lock more: the number says nothing. */
const SEMAPHORE_MAX = 2_000_000;
const GAUGES = {
  held: ['holdfast.held', '{lease}', 'Leases that this process holds'],
  waiting: ['holdfast.waiting', '{call}', 'Calls of this process that wait for a lock'],
  permits: ['holdfast.permits.used', '{permit}', 'Permits of semaphores that this process holds'],
  limit: ['holdfast.permits.limit', '{permit}', 'Permits that a semaphore has, for all processes'],
} as const satisfies Record<keyof Sums, readonly string[]>;

class Gauges {
  readonly #sources = new Set<Source>();
  /** A name that was reported stays, with 0: otherwise its last value would seem to stay. */
  readonly #names = new Map<string, Sums>();
  readonly #observables: readonly (readonly [keyof Sums, Observable])[];
  readonly #callbacks = new Map<Observable, (result: ObservableResult) => void>();

  constructor(meter: Meter) {
    this.#observables = Object.entries(GAUGES).map(([which, [name, unit, description]]) => {
      const about = { unit, description };
      // a limit is the same in each process: its sum over processes would say nothing
      return which === 'limit'
        ? [which, meter.createObservableGauge(name, about)]
        : [which as keyof Sums, meter.createObservableUpDownCounter(name, about)];
    });
  }

  add(source: Source): void {
    this.#sources.add(source);
    if (this.#sources.size > 1) return;
    for (const [which, observable] of this.#observables) {
      const callback = (result: ObservableResult): void => this.#report(which, result);
      this.#callbacks.set(observable, callback);
      observable.addCallback(callback);
    }
  }

  remove(source: Source): void {
    this.#sources.delete(source);
    if (this.#sources.size > 0) return;
    for (const [observable, callback] of this.#callbacks) observable.removeCallback(callback);
    this.#callbacks.clear();
    this.#names.clear();
  }

  /** @param capacity the permits of the lock, for all processes */
  learn(name: string, capacity: number): void {
    if (capacity > 1 && capacity < SEMAPHORE_MAX) this.#sumsOf(name).limit = capacity;
  }

  #report(which: keyof Sums, result: ObservableResult): void {
    if (which !== 'limit') this.#add(which);
    for (const [name, sums] of this.#names) {
      const isOfSemaphores = which === 'permits' || which === 'limit';
      if (isOfSemaphores && sums.limit === 0) continue;
      result.observe(sums[which], { 'lock.name': name });
    }
  }

  #add(which: Exclude<keyof Sums, 'limit'>): void {
    for (const sums of this.#names.values()) sums[which] = 0;
    for (const { holdfast, nameOf } of this.#sources) {
      for (const [key, stats] of holdfast.statsByKey()) {
        this.#sumsOf(nameOf(key))[which] += stats[which];
      }
    }
  }

  #sumsOf(name: string): Sums {
    let sums = this.#names.get(name);
    if (sums === undefined) {
      sums = { held: 0, waiting: 0, permits: 0, limit: 0 };
      this.#names.set(name, sums);
    }
    return sums;
  }
}

const byMeter = new WeakMap<Meter, Gauges>();

/** Adds an instance to the gauges of a meter. Returns a function that removes it. */
export function observe(holdfast: Instrumented, meter: Meter, nameOf: LockName): () => void {
  const gauges = byMeter.get(meter) ?? new Gauges(meter);
  byMeter.set(meter, gauges);
  const source = { holdfast, nameOf };
  gauges.add(source);
  const stop = listen(holdfast.id, {
    'tracing:holdfast:acquire:start': ({ key, capacity }: AcquireMessage) => {
      if (capacity > 1) gauges.learn(nameOf(key), capacity);
    },
  });
  return () => {
    stop();
    gauges.remove(source);
  };
}
