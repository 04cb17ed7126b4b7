/**
 * The kind of a warning:
 *
 * - `HOLDFAST_LONG_WAIT`: a call has waited for longer than `longWait`.
 * - `HOLDFAST_SELF_WAIT`: the same, and this process has held the lock for so long. If the holder
 *   waits for that call, neither ever ends.
 * - `HOLDFAST_LONG_QUEUE`: ever more calls of this process wait for one lock.
 * - `HOLDFAST_LONG_HOLD`: a lock has been held for longer than `longHold`.
 * - `HOLDFAST_OUTLIVED`: work went on after its lease was lost.
 * - `HOLDFAST_LATE_RENEWAL`: a renewal was sent late, because the event loop was blocked.
 * - `HOLDFAST_CLOCK_JUMP`: the clock of this machine was set, or the machine was suspended.
 * - `HOLDFAST_SERVER_CLOCK`: the clock of a quorum's server is off by more than a second, so the
 *   server counts as failed.
 * - `HOLDFAST_POLLING`: messages of the store do not arrive, so waiters poll it.
 * - `HOLDFAST_BLOCKED_CLIENT`: the client waits for the reply to a blocking command of the program.
 *   Leases cannot be renewed meanwhile.
 * - `HOLDFAST_OUT_OF_STEP`: the client gave a request the reply to another command. No such reply
 *   is believed; those to commands of the program may be wrong too.
 * - `HOLDFAST_FORGOTTEN`: the object of a lease was collected, and its lease was not released.
 * - `HOLDFAST_SHORT_TTL`: a ttl is so short that it may have been meant in seconds.
 * - `HOLDFAST_SILENT_CLIENT`: the client's connection died silently: a new one to the same server
 *   is answered.
 * - `HOLDFAST_CALLBACK`: `onExpiring`, `onLost` or `onWarning` threw an exception.
 */
export type HoldfastWarningCode =
  | 'HOLDFAST_LONG_WAIT'
  | 'HOLDFAST_SELF_WAIT'
  | 'HOLDFAST_LONG_QUEUE'
  | 'HOLDFAST_LONG_HOLD'
  | 'HOLDFAST_OUTLIVED'
  | 'HOLDFAST_LATE_RENEWAL'
  | 'HOLDFAST_CLOCK_JUMP'
  | 'HOLDFAST_SERVER_CLOCK'
  | 'HOLDFAST_POLLING'
  | 'HOLDFAST_BLOCKED_CLIENT'
  | 'HOLDFAST_OUT_OF_STEP'
  | 'HOLDFAST_FORGOTTEN'
  | 'HOLDFAST_SHORT_TTL'
  | 'HOLDFAST_SILENT_CLIENT'
  | 'HOLDFAST_CALLBACK';

export interface HoldfastWarning {
  readonly code: HoldfastWarningCode;
  readonly message: string;
  /** The key of the lock, if any. */
  readonly key: string | undefined;
}
