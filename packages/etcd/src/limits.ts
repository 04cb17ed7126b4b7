/**
 * The time limits of requests. Almost all requests end long before, so all of them share one timer,
 * and a request has an `AbortController` only if its function asks for a signal.
 */

/** Requests may end this much later than their limit, in ms. */
const LATE_MS = 5;

/** A function that ends a request. */
type Stop = () => void;

/** Where a request that needs no signal says how it is ended: a part of its settings. */
export const STOP: unique symbol = Symbol('stop');

/** What a request gets of its limit. */
export interface Limited {
  readonly signal: AbortSignal;
  [STOP](stop: Stop): void;
}

/** The limit of one request. */
export class Limit {
  readonly deadline: number;
  #control: AbortController | undefined;
  #stop: Stop | undefined;
  #isOver = false;

  constructor(ms: number) {
    this.deadline = performance.now() + ms;
    add(this);
  }

  /** For the settings of a request: also a copy of them has the signal. */
  get settings(): Limited {
    const signalOf = (): AbortSignal => {
      const control = (this.#control ??= new AbortController());
      if (this.#isOver) control.abort();
      return control.signal;
    };
    return {
      get signal() {
        return signalOf();
      },
      [STOP]: (stop) => {
        this.#stop = stop;
        if (this.#isOver) stop();
      },
    };
  }

  expire(): void {
    this.#isOver = true;
    this.#stop?.();
    this.#control?.abort();
  }

  /** The request has ended. */
  end(): void {
    open.delete(this);
    if (open.size === 0) timer?.unref();
  }
}

const open = new Set<Limit>();
let timer: NodeJS.Timeout | undefined;
/** When the timer ends. */
let planned = Number.POSITIVE_INFINITY;

function add(limit: Limit): void {
  open.add(limit);
  if (limit.deadline + LATE_MS < planned) plan(limit.deadline + LATE_MS);
  else if (open.size === 1) timer?.ref();
}

function plan(at: number): void {
  clearTimeout(timer);
  planned = at;
  timer = setTimeout(expire, at - performance.now());
}

function expire(): void {
  timer = undefined;
  planned = Number.POSITIVE_INFINITY;
  const now = performance.now();
  let next = Number.POSITIVE_INFINITY;
  for (const limit of open) {
    if (limit.deadline > now) {
      next = Math.min(next, limit.deadline);
      continue;
    }
    open.delete(limit);
    limit.expire();
  }
  if (next < Number.POSITIVE_INFINITY) plan(next + LATE_MS);
}
