/** The rules and texts of warnings: probable mistakes of the program, and dangers for leases. */
import type { AcquireRequest } from '../acquire/call.js';
import type { HoldfastWarning, HoldfastWarningCode } from '../base/warning.js';
import { MARK } from '../base/marker-key.js';
import type { Hold } from '../lease/root.js';
import type { WarningMessage } from './messages.js';
import { type Telemetry, WARNING } from './telemetry.js';
import { quote } from '../base/text.js';

const LONG_QUEUE = 100;
/** A long queue counts as new after this time. */
const FORGET_MS = 60_000;
/** The part of the ttl by which a renewal is late. */
const LATE = 1 / 10;
/** Work that ends so soon after the loss of its lease was told to end by it. */
const OUTLIVED_MS = 100;
const SERVER_CLOCK_MS = 60_000;
/** The least time between two warnings of one kind; some kinds have a longer one. */
const PAUSE_MS = 1000;

export class Warnings {
  readonly #telemetry: Telemetry;
  readonly #told = new WeakSet<object>();
  /** The size at which a queue was last reported, and when it was last long. */
  readonly #queues = new Map<string, { readonly size: number; readonly at: number }>();
  readonly #quietUntil = new Map<string, number>();

  constructor(telemetry: Telemetry) {
    this.#telemetry = telemetry;
  }

  /** @param lease the lease of this process that the call waits for */
  waits(now: number, request: AcquireRequest, waited: number, lease?: Hold): void {
    const { key } = request;
    const { longWait } = this.#telemetry.settings;
    if (this.#told.has(request) || this.#isQuiet('wait', now, longWait)) return;
    this.#told.add(request);
    const own = lease ?? this.#holder(key);
    const held = own === undefined ? 0 : now - own.grantedAt;
    const wait = `a call has waited ${seconds(waited)} for ${quote(key)}`;
    if (held < longWait) return this.#tell('HOLDFAST_LONG_WAIT', wait, key);
    const text =
      `${wait}, which this process itself has held for ${seconds(held)}. If the holder awaits ` +
      'that call, it waits for itself: use mutex(key, { reentrant: true }), or pass the lease ' +
      'on. If two tasks each hold a lock and wait for that of the other, acquire both with allOf';
    this.#tell('HOLDFAST_SELF_WAIT', text, key);
  }

  queue(now: number, key: string, size: number): void {
    if (size < LONG_QUEUE) return;
    for (const [one, { at }] of this.#queues) {
      if (now - at > FORGET_MS) this.#queues.delete(one);
    }
    const told = this.#queues.get(key)?.size ?? 0;
    const grown = size >= 2 * told;
    this.#queues.set(key, { size: grown ? size : told, at: now });
    if (!grown) return;
    const text =
      `${size} calls of this process wait for ${quote(key)}, and there come more than get it: ` +
      'hold it for a shorter time, split the key, or limit the calls with maxQueue or wait';
    this.#tell('HOLDFAST_LONG_QUEUE', text, key);
  }

  held(now: number, hold: Hold): void {
    if (this.#told.has(hold)) return;
    this.#told.add(hold);
    const { key, grantedAt, terms } = hold;
    const text =
      `${quote(key)} has been held for ${seconds(now - grantedAt)}, longer than longHold ` +
      `(${seconds(terms.longHold)}). Let the work take less under the lock, or raise longHold`;
    this.#tell('HOLDFAST_LONG_HOLD', text, key);
  }

  forgotten(now: number, { key, grantedAt }: Hold): void {
    const text =
      `the lease of ${quote(key)} was forgotten: it was granted ${seconds(now - grantedAt)} ago, ` +
      'and no code has its object any more, so it is renewed until this process ends. Release it ' +
      'in a finally block, or use run or await using';
    this.#tell('HOLDFAST_FORGOTTEN', text, key);
  }

  short(now: number, key: string, ttl: number): void {
    if (this.#isQuiet('short', now, Number.POSITIVE_INFINITY)) return;
    const text =
      `${quote(key)} is asked for with a ttl of ${ttl} ms. All durations are in milliseconds: if ` +
      `${ttl} s are meant, use ${ttl * 1000}`;
    this.#tell('HOLDFAST_SHORT_TTL', text, key);
  }

  outlived(now: number, hold: Hold): void {
    const lostAt = this.#telemetry.lostAt.get(hold) ?? now;
    const late = now - Math.min(lostAt, hold.validUntil);
    if (late < OUTLIVED_MS) return;
    const { key } = hold;
    const text =
      `the work under ${quote(key)} ended ${seconds(late)} after its lease was lost; another ` +
      'holder may have worked at the same time. Let the work end when lease.signal aborts, and ' +
      'let the resource check lease.fence';
    this.#tell('HOLDFAST_OUTLIVED', text, key);
  }

  /** @param delay in ms, 50 or more */
  renews(now: number, keys: readonly string[], ttl: number, delay: number): void {
    if (delay < LATE * ttl || this.#isQuiet('renews', now, PAUSE_MS)) return;
    const [key = ''] = keys;
    const more = keys.length > 1 ? ` and of ${keys.length - 1} more` : '';
    const text =
      `the renewal of ${quote(key)}${more} is ${seconds(delay)} late, because the event loop of ` +
      `this process was blocked; the ttl is ${seconds(ttl)}. Move long synchronous work to a ` +
      'worker, or use a longer ttl';
    this.#tell('HOLDFAST_LATE_RENEWAL', text, key);
  }

  /** The wall clock moved by so many ms against the monotonic clock. */
  clock(_: number, by: number): void {
    const what =
      by > 0
        ? `was set forward by ${seconds(by)}, or the machine was suspended. Leases are not ` +
          'believed until the store has confirmed them'
        : `was set back by ${seconds(-by)}. Leases are not affected: they are measured with the ` +
          'monotonic clock';
    this.#tell('HOLDFAST_CLOCK_JUMP', `the clock of this machine ${what}`);
  }

  serverClock(now: number, servers: string): void {
    if (this.#isQuiet('serverClock', now, SERVER_CLOCK_MS)) return;
    const text =
      `${servers}, compared with the median of the quorum. A wrong clock counts as a failed ` +
      'server: if another one fails, locks may be refused. Synchronize the clocks of the servers';
    this.#tell('HOLDFAST_SERVER_CLOCK', text);
  }

  polls(now: number, key: string, failure: unknown): void {
    const message = failure instanceof Error ? failure.message : '';
    const kind = message === '' ? 'polls' : 'polls, with a reason';
    if (this.#isQuiet(kind, now, 10 * PAUSE_MS)) return;
    const why = message && `: ${message}`;
    const text =
      'the connection for wake-ups is not open, so waiters poll the store and get a lock up to a ' +
      `quarter of claimWindow late${why}`;
    this.#tell('HOLDFAST_POLLING', text, key);
  }

  silent(now: number): void {
    if (this.#isQuiet('silent', now, PAUSE_MS)) return;
    const text =
      'messages did not arrive on the connection for wake-ups, although it was open, so waiters ' +
      'polled the store. It is replaced. A network device that forgets connections is the usual ' +
      'reason: let the clients use TCP keep-alive, or a shorter one';
    this.#tell('HOLDFAST_POLLING', text);
  }

  mute(now: number, text: string): void {
    if (this.#isQuiet('mute', now, this.#telemetry.settings.longWait)) return;
    this.#tell('HOLDFAST_SILENT_CLIENT', text);
  }

  blocked(now: number, command: string): void {
    if (this.#isQuiet('blocked', now, this.#telemetry.settings.longWait)) return;
    const text =
      `no reply, because the client waits for the reply to ${command}, which blocks all ` +
      'commands behind it. No lease can be renewed meanwhile. Give Holdfast a client of its own, ' +
      'for example client.duplicate()';
    this.#tell('HOLDFAST_BLOCKED_CLIENT', text);
  }

  outOfStep(now: number, { message }: Error): void {
    if (this.#isQuiet('outOfStep', now, 10 * PAUSE_MS)) return;
    const text = `${message}. End the client, connect a new one, and update the client library`;
    this.#tell('HOLDFAST_OUT_OF_STEP', text);
  }

  threw(_: number, callback: string, error: unknown, key?: string): void {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const of = key === undefined ? '' : ` of ${quote(key)}`;
    const text = `${callback}${of} failed: ${why}`;
    this.#tell('HOLDFAST_CALLBACK', text, key, callback === 'onWarning');
  }

  #holder(key: string): Hold | undefined {
    for (const { hold } of this.#telemetry.roots()) if (hold.key === key) return hold;
    return undefined;
  }

  /** Whether such a warning was told less than `ms` ago; otherwise it is told now. */
  #isQuiet(kind: string, now: number, ms: number): boolean {
    if (now < (this.#quietUntil.get(kind) ?? 0)) return true;
    this.#quietUntil.set(kind, now + ms);
    return false;
  }

  #tell(code: HoldfastWarningCode, text: string, key?: string, quietly = false): void {
    if (key?.includes(MARK)) return;
    const warning: HoldfastWarning = { code, message: `Holdfast: ${text}`, key };
    const { instance, settings } = this.#telemetry;
    if (WARNING.hasSubscribers) {
      WARNING.publish({ ...warning, instance } satisfies WarningMessage);
    }
    if (!quietly) void this.#callBack(warning, settings.onWarning);
  }

  async #callBack(
    warning: HoldfastWarning,
    onWarning: ((warning: HoldfastWarning) => void) | undefined,
  ): Promise<void> {
    try {
      // it may return a promise
      await (onWarning?.(warning) as unknown);
    } catch (error) {
      this.threw(0, 'onWarning', error);
    }
  }
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
