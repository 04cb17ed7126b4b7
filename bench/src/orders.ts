/** What the bench asks a worker to do, and what the worker answers. */

/** Concurrent loops of acquire and release. */
export interface LoopsOrder {
  readonly do: 'loops';
  readonly ms: number;
  readonly tasks: number;
  /** A key of its own for each task, or one for all. */
  readonly keys: 'own' | 'one';
  /** Ms for which a lock is held. */
  readonly hold: number;
  /** Ms within which the tasks wait at random between release and acquire. */
  readonly stagger: number;
  /** After its release a task waits until another task has acquired. */
  readonly polite: boolean;
  /** Counts the commands: in the warm-up round only, because counting costs time. */
  readonly count: boolean;
  /** Sends the time of each acquisition and release, for the checks across processes. */
  readonly intervals: boolean;
}

export interface LoopsResult {
  /** Acquisitions by task, within the time. */
  readonly tasks: number[];
  /**
   * The acquisitions of the rate, and their time. On a busy machine none may end in time: then all
   * are counted, with the time that they took.
   */
  readonly counted: number;
  readonly ms: number;
  /** Acquisitions including those that ended after the time. */
  readonly all: number;
  /** CPU time of this process, in µs. */
  readonly cpu: number;
  /** Acquisitions while another task of this process is inside, or with a fence that is not new. */
  readonly violations: number;
  /** The longest wait of an acquisition, in ms. */
  readonly longestWait: number;
  /** Ms from a release to the next acquisition by another task of this process. */
  readonly gaps: number[];
  /** Ms of acquisition and release, in turn, on a clock that all processes share. */
  readonly intervals: number[];
  readonly commands: number;
  readonly fence: boolean;
}

/** Many waiters, each of which acquires once. */
export interface CrowdOrder {
  readonly do: 'crowd';
  readonly waiters: number;
  readonly key: string;
}

export interface CrowdResult {
  readonly intervals: number[];
  readonly cpu: number;
}

/** Acquires a number of locks and keeps them. */
export interface HoldOrder {
  readonly do: 'hold';
  readonly locks: number;
  /** The ttl after whose middle the bench renews the locks of a library that does not do it. */
  readonly renewed?: number;
}

export interface HoldResult {
  /** Bytes of this process's heap for each lock; not measured if the bench renews the locks. */
  readonly heap: number;
}

/** Waits, while the locks of `hold` are renewed. */
export interface RestOrder {
  readonly do: 'rest';
  readonly ms: number;
  readonly count: boolean;
}

export interface RestResult {
  /** CPU time of this process, in µs. */
  readonly cpu: number;
  readonly commands: number;
  /** The locks that were lost, as far as the library tells. */
  readonly lost: number;
}

/** Releases what `hold` or `take` acquired. */
export interface DropOrder {
  readonly do: 'drop';
}

/** Acquires one key, and keeps it. */
export interface TakeOrder {
  readonly do: 'take';
  readonly key: string;
}

export interface TakeResult {
  /** Ms of the clock that all processes share. */
  readonly at: number;
}

/** Publishes and receives on two connections of this process. */
export interface EchoOrder {
  readonly do: 'echo';
  readonly ms: number;
}

export interface EchoResult {
  /** Ms from publish to receipt. */
  readonly gaps: number[];
}

/** Each order with its answer. */
export interface Orders {
  loops: { order: LoopsOrder; result: LoopsResult };
  crowd: { order: CrowdOrder; result: CrowdResult };
  hold: { order: HoldOrder; result: HoldResult };
  rest: { order: RestOrder; result: RestResult };
  drop: { order: DropOrder; result: Record<string, never> };
  take: { order: TakeOrder; result: TakeResult };
  echo: { order: EchoOrder; result: EchoResult };
}
export type OrderName = keyof Orders;
export type Order = Orders[OrderName]['order'];

const TRIES = 100;

/**
 * The difference between the clock that all processes of a machine share and the cheap clock of
 * this process, in ms. The process may be suspended between two readings, so the closest of many
 * pairs counts.
 */
function findOffset(): number {
  let best = { width: Infinity, offset: 0 };
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const before = performance.now();
    const shared = Number(process.hrtime.bigint()) / 1e6;
    const after = performance.now();
    if (after - before >= best.width) continue;
    best = { width: after - before, offset: shared - (before + after) / 2 };
  }
  return best.offset;
}

const OFFSET = findOffset();

/** Ms of a clock that all processes of a machine share. */
export const now = (): number => performance.now() + OFFSET;
