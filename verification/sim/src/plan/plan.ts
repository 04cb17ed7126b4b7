/**
 * The events of one simulation, as data. The plan is drawn from the seed before the run, so that
 * parts can be left out and the other parts run as before.
 */
import type { Habits } from '../net/client-port.js';
import type { Network } from '../net/path.js';
import type { KindCall } from '../work/family/kinds.js';

export interface MachinePlan {
  readonly name: string;
  readonly rate: number;
  readonly uptime: number;
  readonly wallApart: number;
  /** A server that cannot count the listeners of a channel: it always counts at least one. */
  readonly blind?: boolean;
}

export interface ProcessPlan {
  readonly name: string;
  readonly machine: string;
  readonly habits: Habits;
  readonly options: {
    readonly ttl: number;
    readonly claimWindow: number;
    readonly requestTimeout: number;
    readonly unreachableAfter: number;
    readonly localHandOffs: number;
    readonly maxQueue: number;
    readonly linger: number;
    readonly grace: number;
    readonly retention: number;
    readonly maxRequests?: number;
  };
}

/** The steps of a holder, in order. */
export type Step =
  | { readonly do: 'rest'; readonly ms: number }
  | { readonly do: 'use'; readonly late: number }
  | { readonly do: 'work'; readonly ms: number }
  | { readonly do: 'extend' | 'ensure'; readonly ms: number };

/** Locks; tasks on a stock with a condition; gates; and the other primitives. */
export type Acquirer =
  | ('mutex' | 'read' | 'write' | 'permits')
  | ('consume' | 'produce' | 'settle')
  | ('latch' | 'count' | 'barrier')
  | ('shift' | 'resize' | 'all' | 'lead' | 'schedule' | 'calls' | 'sprint' | 'crowd' | 'shared')
  | ('fleet' | 'turns' | 'kinds' | 'sharer' | 'forced' | 'look' | 'flight');

/** What a call that shares a root does: its terms, its work, and its end. */
export interface Change {
  readonly ttl: number;
  readonly ms: number;
  readonly maxHold?: number;
  /** It ends the renewal of its lease when it begins. */
  readonly stops?: boolean;
  /** The process that it hands its lease over to, and how long that one holds it. */
  readonly heir?: string;
  readonly keeps?: number;
}

export interface TaskPlan {
  readonly name: string;
  readonly process: string;
  readonly at: number;
  readonly key: string;
  readonly how: 'acquire' | 'try' | 'run' | 'reenter' | 'force';
  readonly weight: number;
  readonly capacity: number;
  readonly primitive: Acquirer;
  readonly ttl: number;
  readonly renew: boolean;
  readonly maxHold: number | undefined;
  readonly fair: boolean;
  readonly owner: string | undefined;
  readonly wait: number | undefined;
  /** When the signal aborts, counted from the call. */
  readonly abort: number | undefined;
  readonly steps: readonly Step[];
  /** A reentrant run nests a run after each step, not only after the last. */
  readonly enters?: boolean;
  /** Time before the end of the lease at which it is warned; 0: the library's default. */
  readonly expiring?: number;
  /** Changes of a read-write lock's side. */
  readonly moves?: readonly ('none' | 'upgrade' | 'downgrade')[];
  /** The process that a read-write lease is handed over to, and how long that one holds it. */
  readonly heir?: string;
  readonly keeps?: number;
  /** The new number of permits. */
  readonly permits?: number;
  readonly keys?: readonly string[];
  readonly slot?: string;
  /** The call on a key that other kinds use too. */
  readonly call?: KindCall;
  /** The name of a call that only looks. */
  readonly look?: string;
  /** The lease that a forced release names; all leases if it names none. */
  readonly by?: 'id' | 'holder';
  /** A computation of a flight rejects. */
  readonly fails?: boolean;
  /** For how long the result of a flight is fresh. */
  readonly fresh?: number;
  /** What each call of a task does with its lease. */
  readonly changes?: readonly Change[];
  readonly end: 'release' | 'twice' | 'never';
}

/** The owner that an acquisition names; a reentrant run names none. */
export function ownerOf({ how, owner }: TaskPlan): string | undefined {
  return how === 'reenter' ? undefined : owner;
}

type At = { readonly at: number };
type Lasting = At & { readonly ms: number };

export type FaultPlan =
  | (Lasting & { readonly kind: 'stop'; readonly process: string })
  | (Lasting & {
      readonly kind: 'crash';
      readonly process: string;
      /** Whether the server learns of it at once. */
      readonly silent: boolean;
      readonly restarts: boolean;
    })
  | (At & { readonly kind: 'close'; readonly process: string; readonly grace?: number })
  | (Lasting & { readonly kind: 'sleep'; readonly machine: string })
  | (At & { readonly kind: 'set-clock'; readonly machine: string; readonly step: number })
  | (At & { readonly kind: 'drift'; readonly machine: string; readonly rate: number })
  | (Lasting & { readonly kind: 'cut'; readonly machine: string; readonly way: Way })
  | (Lasting & { readonly kind: 'slow'; readonly machine: string; readonly factor: number })
  | (At & {
      readonly kind: 'reset';
      readonly process: string;
      readonly which: 'all' | 'commands' | 'pushes';
      readonly lingers: number;
      readonly unnoticed: number;
    })
  | (Lasting & {
      readonly kind: 'restart';
      readonly memory: 'keeps' | 'loses' | 'replica';
      readonly lag: number;
    })
  /** The server's replies to a process are lost, while its requests arrive. */
  | (Lasting & { readonly kind: 'mute'; readonly process: string })
  /** A client gives replies to the wrong commands, until its connection ends. */
  | (Lasting & { readonly kind: 'confuse'; readonly process: string })
  | (Lasting & { readonly kind: 'stop-server' })
  | (At & { readonly kind: 'forget'; readonly key: string })
  | (Lasting & { readonly kind: 'refuse'; readonly answer: string });

export type Way = 'up' | 'down' | 'both';
export type FaultKind = FaultPlan['kind'];

/** Overload: what takes time that otherwise takes none. */
export interface Load {
  /** The time of a command in the server, and the same without the load. */
  readonly cost: number;
  readonly usual: number;
  /** By how much an event of an idle process is late, on average. */
  readonly lag: number;
}

export interface Plan {
  readonly seed: number;
  readonly profile: string;
  readonly network: Network;
  readonly server: MachinePlan;
  readonly machines: readonly MachinePlan[];
  readonly processes: readonly ProcessPlan[];
  readonly tasks: readonly TaskPlan[];
  readonly faults: readonly FaultPlan[];
  /** The time that the server and the event loops need, in ms. */
  readonly load?: Load;
  /** The commands and messages that the server may execute; any number if unset. */
  readonly most?: number;
  /** Kinds of violations that are not reported, to find others in a library with known ones. */
  readonly ignores?: readonly string[];
  /** When the last fault is over. */
  readonly calm: number;
  /** The latest time by which all tasks must have ended. */
  readonly end: number;
}
