/** The messages between `holdfast` and its guard. Times are of the monotonic clock, in ms. */

import type { Member } from './members.js';

/** Starts the command. */
export interface StartOrder {
  readonly do: 'start';
  readonly file: string;
  readonly args: readonly string[];
  /** Added to the environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Milliseconds from SIGTERM to SIGKILL. */
  readonly killAfter: number;
  /** Milliseconds from SIGKILL to the end of the lease. */
  readonly margin: number;
  /** The end of the lease. */
  readonly until: number;
  /**
   * True if `holdfast` runs under another `holdfast`. If it is killed, the other one has given the
   * command its time already.
   */
  readonly nested: boolean;
}

export type Order =
  | StartOrder
  /** The lease was renewed. */
  | { readonly do: 'extend'; readonly until: number }
  /** Forwards a signal to the process group of the command. */
  | { readonly do: 'signal'; readonly name: NodeJS.Signals }
  /** Ends the command. */
  | { readonly do: 'end'; readonly why: EndReason };

/**
 * Why a command was ended: `lost`, the lock was lost; `deadline`, the lease was about to end and
 * was not renewed; `orphaned`, `holdfast` died.
 */
export type EndReason = 'lost' | 'deadline' | 'orphaned';

export type Report =
  | { readonly type: 'started'; readonly pid: number }
  | { readonly type: 'not-started'; readonly code: string; readonly message: string }
  /** The guard sent SIGTERM, or SIGKILL. */
  | { readonly type: 'ending'; readonly why: EndReason }
  | { readonly type: 'killed' }
  /** These processes of the command live on after SIGKILL, for example those of another user. */
  | { readonly type: 'outlives'; readonly members: readonly Member[] }
  /** The command and all its processes are gone. */
  | {
      readonly type: 'ended';
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
      readonly why: EndReason | undefined;
    };

/** The monotonic clock. All processes of a machine see the same value. */
export function now(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
