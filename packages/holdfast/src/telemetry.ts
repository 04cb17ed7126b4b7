/**
 * What an instance reports of itself: counters, warnings, and messages on channels of
 * `diagnostics_channel`.
 *
 * Each operation has one channel with a fixed name. Without a subscriber, an operation costs one
 * read of `hasSubscribers`, and no message is created. All primitives acquire, renew and release
 * through the same few calls, so each channel has one or two places that publish:
 *
 * | channel | kind | place |
 * | --- | --- | --- |
 * | `holdfast:acquire` | tracing | `Core.acquire`, `Core.regained` |
 * | `holdfast:run` | tracing | `Core.run` |
 * | `holdfast:renew` | tracing | `Inquiries` |
 * | `holdfast:release` | tracing | `Core.release`, `Core.end` |
 * | `holdfast:forced` | tracing | `forceRelease` |
 * | `holdfast:wait` | plain | with the tracing of `acquire` |
 * | `holdfast:lost` | plain | `LeaseRecord` |
 * | `holdfast:handoff` | plain | `Acquisitions`, `Roots` |
 * | `holdfast:warning` | plain | `Warnings` |
 */
import {
  type Channel,
  channel,
  tracingChannel,
  type TracingChannel,
} from 'node:diagnostics_channel';
import type { AcquireRequest } from './acquire/call.js';
import type { Clock } from './clock.js';
import type { LeaseRecord } from './lease/lease-record.js';
import type { ReleaseOutcome } from './lease/lease.js';
import { MARK } from './marker-key.js';
import type {
  AcquireMessage,
  HandOffMessage,
  InstanceInfo,
  LostMessage,
  ReleaseMessage,
} from './messages.js';
import type { Settings } from './options.js';
import type { Warnings } from './warnings.js';

export type Tracing = TracingChannel<unknown, object>;

export const ACQUIRE: Tracing = tracingChannel('holdfast:acquire');
export const RUN: Tracing = tracingChannel('holdfast:run');
export const RENEW: Tracing = tracingChannel('holdfast:renew');
export const RELEASE: Tracing = tracingChannel('holdfast:release');
export const FORCED: Tracing = tracingChannel('holdfast:forced');
export const WAIT: Channel = channel('holdfast:wait');
export const LOST: Channel = channel('holdfast:lost');
export const HAND_OFF: Channel = channel('holdfast:handoff');
export const WARNING: Channel = channel('holdfast:warning');

/** True if a message has to be created. Node before 20.13 does not tell; then it is created. */
export function isOn({ hasSubscribers }: Tracing): boolean {
  return (hasSubscribers as boolean | undefined) !== false;
}

/**
 * Publishes the steps of an operation, as `TracingChannel.tracePromise` does, but without the
 * result, which is an object of the library. The work begins at once, as it does without a
 * subscriber.
 * @param finish writes the result into the message
 */
export function traced<T, M extends { error?: unknown }>(
  { start, end, asyncStart, asyncEnd, error }: Tracing,
  message: M,
  work: () => Promise<T>,
  finish?: (message: M, result: T) => void,
): Promise<T> {
  const ended = (): void => {
    asyncStart.publish(message);
    asyncEnd.publish(message);
  };
  return start.runStores(message, () => {
    const promise = work().then(
      (result) => {
        finish?.(message, result);
        ended();
        return result;
      },
      (cause: unknown) => {
        message.error = cause;
        error.publish(message);
        ended();
        throw cause;
      },
    );
    end.publish(message);
    return promise;
  });
}

/** The observations that may become warnings. */
type Observation = Exclude<keyof Warnings, 'constructor'>;
type About<O extends Observation> =
  Parameters<Warnings[O]> extends [number, ...infer A] ? A : never;

export class Telemetry {
  readonly clock: Clock;
  readonly settings: Settings;
  readonly instance: InstanceInfo;
  acquisitions = 0;
  releases = 0;
  losses = 0;
  handOffs = 0;
  renewals = 0;
  failedRenewals = 0;
  pollings = 0;
  /** The leases of this process. */
  records: () => Iterable<LeaseRecord> = () => [];
  /** When a lease was lost. */
  readonly lostAt: WeakMap<LeaseRecord, number> = new WeakMap<LeaseRecord, number>();
  #warnings: Warnings | undefined;

  constructor(settings: Settings, id: string, store: string) {
    const { clock, prefix, label } = settings;
    this.settings = settings;
    this.clock = clock;
    this.instance = { id, store, prefix, label };
  }

  /** Reports what may be worth a warning. The texts and rules are loaded with the first of them. */
  warn<O extends Observation>(observation: O, ...about: About<O>): void {
    if (this.settings.onWarning === undefined && !WARNING.hasSubscribers) return;
    const now = this.clock.now();
    void import('./warnings.js').then(
      ({ Warnings: Loaded }) => {
        const warnings = (this.#warnings ??= new Loaded(this));
        Reflect.apply(warnings[observation], warnings, [now, ...about]);
      },
      // a warning that cannot be loaded is not worth an unhandled rejection
      () => undefined,
    );
  }

  /** A lease was granted; `how` if the acquisition had to wait for it. */
  granted({ key, name: id, fence }: LeaseRecord, how?: HandOffMessage['how']): void {
    const { instance } = this;
    this.acquisitions += 1;
    if (how === undefined) return;
    this.handOffs += 1;
    if (HAND_OFF.hasSubscribers) {
      HAND_OFF.publish({ instance, key, id, fence, how } satisfies HandOffMessage);
    }
  }

  /** A lease that should not be held for long is released. */
  released(record: LeaseRecord): void {
    if (this.clock.now() - record.grantedAt >= record.terms.longHold) this.warn('held', record);
  }

  lost(record: LeaseRecord): void {
    const { instance } = this;
    const now = this.clock.now();
    this.losses += 1;
    this.lostAt.set(record, now);
    if (!LOST.hasSubscribers) return;
    const { key, name: id, fence, reason = '', grantedAt } = record;
    const held = now - grantedAt;
    LOST.publish({ instance, key, id, fence, reason, held } satisfies LostMessage);
  }

  /** Publishes the steps of an acquisition. Markers are no locks. */
  acquire(
    request: AcquireRequest,
    acquire: (request: AcquireRequest) => Promise<LeaseRecord | null>,
    condition?: string,
  ): Promise<LeaseRecord | null> {
    const { key, weight: permits, capacity, terms, onProgress } = request;
    if (key.includes(MARK)) return acquire(request);
    const { instance } = this;
    const { wait, label } = terms;
    const queued = false;
    const message: AcquireMessage = {
      instance,
      key,
      permits,
      capacity,
      wait,
      label,
      queued,
      condition,
    };
    const waits = (trouble: unknown): void => {
      onProgress?.(trouble);
      if (message.queued || trouble !== undefined) return;
      message.queued = true;
      WAIT.publish(message);
    };
    // each call has a request of its own
    (request as { onProgress: typeof waits }).onProgress = waits;
    const work = (): Promise<LeaseRecord | null> => acquire(request);
    return traced(ACQUIRE, message, work, granted);
  }

  /** Publishes the steps of a release. */
  release(
    message: Omit<ReleaseMessage, 'instance'>,
    release: () => Promise<ReleaseOutcome>,
  ): Promise<ReleaseOutcome> {
    if (message.key.includes(MARK)) return release();
    const { instance } = this;
    const full: ReleaseMessage = { instance, ...message };
    return traced(RELEASE, full, release, released);
  }
}

function granted(message: AcquireMessage, record: LeaseRecord | null): void {
  message.granted = record !== null;
  message.id = record?.name;
  message.fence = record?.fence;
}

function released(message: ReleaseMessage, outcome: ReleaseOutcome): void {
  message.outcome = outcome;
}
