/** Events of conditions, slots, latches and barriers: parts of the format in `events.ts`. */

/** The holder begins to wait at condition `c`. Its `release` is a separate event. */
export interface Park {
  readonly e: 'park';
  readonly k: string;
  readonly a: string;
  readonly c: string;
}

/** The wait at the condition has ended: by a signal, without one, or by an error. */
export interface Woken {
  readonly e: 'woken';
  readonly k: string;
  readonly a: string;
  readonly c: string;
  /** `null`: the wait ended with an error. */
  readonly signalled: boolean | null;
}

/** The holder signals at condition `c`. */
export interface Signal {
  readonly e: 'signal';
  readonly k: string;
  readonly a: string;
  readonly c: string;
}

/** The reply to a signal: how many waiters were woken; `null` if unknown. */
export interface Signalled {
  readonly e: 'signalled';
  readonly k: string;
  readonly a: string;
  readonly c: string;
  readonly count: number | null;
}

/** The holder begins the run of a slot. A slot may have one run in `retention` ms. */
export interface SlotRun {
  readonly e: 'run';
  readonly k: string;
  readonly a: string;
  readonly slot: string;
  readonly retention: number;
}

/** A latch of `size` counts is counted down by `by`. `g` names the call. */
export interface Count {
  readonly e: 'count';
  readonly k: string;
  readonly g: string;
  readonly size: number;
  readonly by: number;
}

/** The reply to a count: how many counts remain. */
export interface Counted {
  readonly e: 'counted';
  readonly k: string;
  readonly g: string;
  readonly left: number;
}

/** A call waits until a latch is open, or arrives at a barrier of `size` parties. */
export interface Await {
  readonly e: 'await';
  readonly k: string;
  readonly g: string;
  readonly gate: 'latch' | 'barrier';
  readonly size: number;
  readonly wait?: number;
}

/** The call passed; at a barrier with its generation and its index of arrival. */
export interface Passed {
  readonly e: 'passed';
  readonly k: string;
  readonly g: string;
  readonly generation?: number;
  readonly index?: number;
}

/** A call at a latch or a barrier ended with an error. */
export interface Stopped {
  readonly e: 'stopped';
  readonly k: string;
  readonly g: string;
  readonly code: string;
}
