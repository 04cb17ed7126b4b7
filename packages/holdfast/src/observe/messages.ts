/** The messages on the channels of `diagnostics_channel`, see `telemetry.ts`. */
import type { ReleaseOutcome } from '../lease/lease.js';
import type { HoldfastWarning } from '../base/warning.js';

/** The instance of a message; one object for all its messages. */
export interface InstanceInfo {
  readonly id: string;
  readonly store: string;
  readonly prefix: string;
  readonly label: string;
}

export interface HoldfastMessage {
  readonly instance: InstanceInfo;
  readonly key: string;
  /** Set by the tracing channels if the operation failed. */
  error?: unknown;
}

/** `tracing:holdfast:acquire:*`, and `holdfast:wait` with the same object. */
export interface AcquireMessage extends HoldfastMessage {
  /** The requested permits, and those that the lock has. */
  readonly permits: number;
  readonly capacity: number;
  /** In ms. */
  readonly wait: number;
  readonly label: string;
  /** Set if the lock is acquired again after a wait at a condition. */
  readonly condition: string | undefined;
  /** True once the call waits. */
  queued: boolean;
  /** Set at the end: false if the lock was not free and `wait` is 0. */
  granted?: boolean;
  id?: string | undefined;
  fence?: number | undefined;
}

/** `tracing:holdfast:run:*`: an acquisition, the work under it, and the release. */
export type RunMessage = HoldfastMessage;

/** `tracing:holdfast:renew:*`: one command for one lease or for several. */
export interface RenewMessage {
  readonly instance: InstanceInfo;
  readonly keys: readonly string[];
  readonly ttl: number;
  /** Ms after the planned time. */
  readonly delay: number;
  /** Set at the end: the extended leases. */
  renewed?: number;
  error?: unknown;
}

/** `tracing:holdfast:release:*` */
export interface ReleaseMessage extends HoldfastMessage {
  readonly id: string;
  readonly fence?: number;
  /** Ms since the grant. */
  readonly held?: number;
  /** Set at the end. */
  outcome?: ReleaseOutcome;
}

/** `tracing:holdfast:forced:*` */
export interface ForcedMessage extends HoldfastMessage {
  /** Empty for all leases of the key. */
  readonly id: string;
  readonly reason: string;
  /** Set at the end: the ended leases. */
  ended?: number;
}

/** `holdfast:lost` */
export interface LostMessage extends HoldfastMessage {
  readonly id: string;
  readonly fence: number;
  readonly reason: string;
  /** Ms since the grant. */
  readonly held: number;
}

/** `holdfast:handoff`: a waiter of this process has the lease that another holder released. */
export interface HandOffMessage extends HoldfastMessage {
  readonly id: string;
  readonly fence: number;
  /** `local`: from a task of this process; `push`: by a message; `poll`: found by a request. */
  readonly how: 'local' | 'push' | 'poll';
}

/** `holdfast:warning`, also without `onWarning`. */
export interface WarningMessage extends HoldfastWarning {
  readonly instance: InstanceInfo;
}
