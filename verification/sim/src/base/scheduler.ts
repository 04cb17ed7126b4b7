/**
 * Virtual time: a heap of events, and one loop that runs them.
 *
 * Between two events all promise callbacks have run. The loop waits for them without Node's event
 * loop: a microtask that queues a tick resumes when no microtask is left, at a tenth of the cost
 * of `setImmediate`. From time to time it yields to Node's event loop, so that Node delivers
 * signals and unhandled rejections.
 */

/** The usual number of events between two turns of Node's event loop. */
const GIVE_WAY = 2048;

export class Event {
  readonly at: number;
  readonly order: number;
  /** Undefined when cancelled. */
  run: (() => void) | undefined;

  constructor(at: number, order: number, run: () => void) {
    this.at = at;
    this.order = order;
    this.run = run;
  }

  cancel(): void {
    this.run = undefined;
  }
}

function before(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

export class Scheduler {
  /** Milliseconds since the beginning. */
  now = 0;
  /** Events that were run. */
  count = 0;
  readonly #heap: Event[] = [];
  readonly #giveWay: number;
  #order = 0;

  /** @param giveWay the events between two turns of Node's event loop; 1 for code that waits */
  constructor(giveWay: number = GIVE_WAY) {
    this.#giveWay = giveWay;
  }

  /** Runs a callback at a time that is not past. Callbacks of one time run in call order. */
  at(time: number, run: () => void): Event {
    this.#order += 1;
    const event = new Event(Math.max(time, this.now), this.#order, run);
    this.#push(event);
    return event;
  }

  after(ms: number, run: () => void): Event {
    return this.at(this.now + ms, run);
  }

  /** Runs all events until a time, new ones included. Ends early when `stop` returns true. */
  runUntil(time: number, stop: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const step = (): void => {
        try {
          const event = stop() ? undefined : this.#next(time);
          if (event === undefined) {
            resolve();
            return;
          }
          this.now = event.at;
          this.count += 1;
          event.run?.();
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
          return;
        }
        if (this.count % this.#giveWay === 0) setImmediate(step);
        else queueMicrotask(tick);
      };
      const tick = (): void => process.nextTick(step);
      step();
    });
  }

  /** Waits until all promise callbacks have run. */
  settle(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(resolve);
    });
  }

  #next(until: number): Event | undefined {
    for (;;) {
      const first = this.#heap[0];
      if (first === undefined || (first.run !== undefined && first.at > until)) return undefined;
      this.#pop();
      if (first.run !== undefined) return first;
    }
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(event);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] as Event;
      if (!before(event, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Event;
    const { length } = heap;
    if (length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= length) break;
      if (child + 1 < length && before(heap[child + 1] as Event, heap[child] as Event)) child += 1;
      const below = heap[child] as Event;
      if (!before(below, last)) break;
      heap[index] = below;
      index = child;
    }
    heap[index] = last;
  }
}
