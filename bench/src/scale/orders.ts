/** What the processes of a load do, and what they answer. */
import type { Address } from './sites.js';

export interface Given {
  readonly address: Address;
  readonly ttl: number;
  readonly requestTimeout: number;
  /** Instances of this process, each as a process of its own would have it. */
  readonly instances: number;
  /** True if the instances share the client for commands; the wake connections are their own. */
  readonly shared: boolean;
  /** The place of this process, so that its keys are its own. */
  readonly place: number;
  /** Calls of scripts are counted by the script. */
  readonly counted: boolean;
}

export type Order =
  /** Each instance acquires and releases keys of its own, one after the other. */
  | { readonly do: 'pairs'; readonly pairs: number }
  /** The instances hand one key on, each with one task, until all have had it so often. */
  | { readonly do: 'contend'; readonly key: string; readonly grants: number; readonly work: number }
  /** Each instance acquires and releases one key, with pauses, for a time. */
  | {
      readonly do: 'loop';
      readonly ms: number;
      readonly work: number;
      readonly pause: number;
      /** By default each has its own. */
      readonly key?: string;
    }
  | { readonly do: 'hold'; readonly locks: number }
  /** Acquires and releases as many different keys. */
  | { readonly do: 'use'; readonly keys: number }
  /** Each instance begins to wait for a key. */
  | { readonly do: 'wait'; readonly key: string }
  /** One instance begins as many calls for a key. */
  | { readonly do: 'queue'; readonly key: string; readonly calls: number }
  /** The calls that wait for a lease of this process hand it on, one after the other. */
  | { readonly do: 'pass'; readonly calls: number }
  | { readonly do: 'rest'; readonly ms: number }
  /** Reads the memory in use, after a full collection, which stops the process. */
  | { readonly do: 'weigh' }
  /** Ends all that is held and all that waits. */
  | { readonly do: 'drop' };

export interface Answer {
  /** The time that it took; of several processes, that of the slowest. */
  readonly ms: number;
  /** Processor time of the process, in µs. */
  readonly cpu: number;
  /** Of `weigh`: bytes of the heap and of buffers. */
  readonly heap: number;
  /** Pairs that were done, or grants whose lease was held until its release. */
  readonly done: number;
  /** Since the start of the process, of all instances. */
  readonly renewals: number;
  readonly polls: number;
  readonly held: number;
  /** Commands that the instances gave to their stores meanwhile. */
  readonly commands: number;
  /** Calls since the start, by the hash of the script or its operation, if they are counted. */
  readonly scripts: Readonly<Record<string, number>>;
}
