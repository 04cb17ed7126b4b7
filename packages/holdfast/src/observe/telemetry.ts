/**
 * What an instance reports of itself: counters, warnings, and messages on channels of
 * `diagnostics_channel` ([decision 19](../../../../docs/decisions/0019-channels.md)).
 *
 * Without a subscriber, an operation costs one read of `hasSubscribers`. Apart from `holdfast:run`,
 * each channel has one or two places that publish, for all primitives.
 */
import {
  type Channel,
  channel,
  tracingChannel,
  type TracingChannel,
} from 'node:diagnostics_channel';
import type { AcquireRequest } from '../acquire/call.js';
import { type Clock, outside } from '../base/clock.js';
import { MARK } from '../base/marker-key.js';
import type { Hold, Root } from '../lease/root.js';
import type { ReleaseOutcome } from '../lease/lease.js';
import type {
  AcquireMessage,
  HandOffMessage,
  InstanceInfo,
  LostMessage,
  ReleaseMessage,
  RunMessage,
} from './messages.js';
import type { Settings } from '../base/options.js';
import type { Warnings } from './warnings.js';

const FORGOTTEN = new FinalizationRegistry<Hold>((hold) => {
  if (hold.state === 'held') hold.root.telemetry.warn('forgotten', hold);
});

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

/** Node before 20.13 does not tell; then a message is created. */
export function isOn({ hasSubscribers }: Tracing): boolean {
  return (hasSubscribers as boolean | undefined) !== false;
}

/**
 * Publishes the steps of an operation as `TracingChannel.tracePromise` does, but without the
 * result, which is an object of the library. The work begins at once.
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
  readonly roots: () => Iterable<Root>;
  readonly lostAt: WeakMap<Hold, number> = new WeakMap<Hold, number>();
  #warnings: Warnings | undefined;
  #silence: Silence | undefined;

  constructor(settings: Settings, id: string, store: string, roots: () => Iterable<Root>) {
    const { clock, prefix, label } = settings;
    this.settings = settings;
    this.clock = clock;
    this.instance = { id, store, prefix, label };
    this.roots = roots;
  }

  /** Markers are no locks of the program: they are neither counted nor told. */
  of(key: string): Telemetry {
    if (!key.includes(MARK)) return this;
    const { settings, instance, roots } = this;
    return (this.#silence ??= new Silence(settings, instance.id, instance.store, roots));
  }

  /** Loads the texts and rules with the first observation. */
  warn<O extends Observation>(observation: O, ...about: About<O>): void {
    if (this.settings.onWarning === undefined && !WARNING.hasSubscribers) return;
    const now = this.clock.now();
    const tell = ({ Warnings: Loaded }: { readonly Warnings: typeof Warnings }): void => {
      const warnings = (this.#warnings ??= new Loaded(this));
      Reflect.apply(warnings[observation], warnings, [now, ...about]);
    };
    // not worth an unhandled rejection
    void outside(() => import('./warnings.js').then(tell, () => undefined));
  }

  granted(hold: Hold, how: HandOffMessage['how']): void {
    this.acquisitions += 1;
    this.handOffs += 1;
    if (!HAND_OFF.hasSubscribers) return;
    const { key, name: id, fence } = hold;
    HAND_OFF.publish({ instance: this.instance, key, id, fence, how } satisfies HandOffMessage);
  }

  lost(hold: Hold): void {
    const now = this.clock.now();
    this.losses += 1;
    this.lostAt.set(hold, now);
    const { key, name: id, fence, reason = '', grantedAt } = hold;
    const held = now - grantedAt;
    // later: the lease's state is being changed
    if (this.settings.onLost)
      Promise.resolve()
        .then(() => this.settings.onLost?.({ key, id, fence, held, error: hold.lossError() }))
        .catch((error: unknown) => this.warn('threw', 'onLost', error, key));
    if (!LOST.hasSubscribers) return;
    LOST.publish({ instance: this.instance, key, id, fence, reason, held } satisfies LostMessage);
  }

  /**
   * Warns if a held lease's object is collected, see `HOLDFAST_FORGOTTEN`. Only with a receiver of
   * warnings, because registering an object takes longer than creating it.
   */
  watch(lease: object, hold: Hold): void {
    if (this.settings.onWarning === undefined && !WARNING.hasSubscribers) return;
    FORGOTTEN.register(lease, hold, hold);
  }

  unwatch(hold: Hold): void {
    FORGOTTEN.unregister(hold);
  }

  acquire(
    request: AcquireRequest,
    acquire: (request: AcquireRequest) => Promise<Hold | null>,
    condition?: string,
  ): Promise<Hold | null> {
    const { key, weight: permits, capacity, terms, onProgress } = request;
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
    (request as { onProgress: typeof waits }).onProgress = waits;
    const work = (): Promise<Hold | null> => acquire(request);
    return traced(ACQUIRE, message, work, granted);
  }

  run<T>(key: string, run: () => Promise<T>): Promise<T> {
    if (!isOn(RUN)) return run();
    const message: RunMessage = { instance: this.instance, key };
    return traced(RUN, message, run);
  }

  release(
    message: Omit<ReleaseMessage, 'instance'>,
    release: () => Promise<ReleaseOutcome>,
  ): Promise<ReleaseOutcome> {
    const full: ReleaseMessage = { instance: this.instance, ...message };
    return traced(RELEASE, full, release, released);
  }
}

export class Silence extends Telemetry {
  override granted(): void {}

  override lost(): void {}

  override acquire(
    request: AcquireRequest,
    acquire: (request: AcquireRequest) => Promise<Hold | null>,
  ): Promise<Hold | null> {
    return acquire(request);
  }

  override release(_: object, release: () => Promise<ReleaseOutcome>): Promise<ReleaseOutcome> {
    return release();
  }
}

function granted(message: AcquireMessage, hold: Hold | null): void {
  message.granted = hold !== null;
  message.id = hold?.name;
  message.fence = hold?.fence;
}

function released(message: ReleaseMessage, outcome: ReleaseOutcome): void {
  message.outcome = outcome;
}
