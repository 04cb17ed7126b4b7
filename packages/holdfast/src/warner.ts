/**
 * Tells the program what is probably a mistake, and what takes long. It is asked only about calls
 * that wait, and about requests without a reply. The texts are loaded with the first warning.
 */
import type { AcquireRequest } from './acquire/call.js';
import type { LeaseRecord } from './lease/lease-record.js';
import type { Watchdog } from './lease/watchdog.js';
import type { Settings } from './options.js';
import type * as Texts from './warnings.js';

/**
 * The kind of a warning:
 *
 * - `HOLDFAST_LONG_WAIT`: a call has waited for longer than `longWait`.
 * - `HOLDFAST_SELF_WAIT`: the same, and this process has held the lock itself for so long. The
 *   holder may wait for that call: then neither ever ends.
 * - `HOLDFAST_BLOCKED_CLIENT`: a request has no reply, because the client waits for the reply to a
 *   blocking command of the program. Leases cannot be renewed meanwhile.
 */
export type HoldfastWarningCode =
  | 'HOLDFAST_LONG_WAIT'
  | 'HOLDFAST_SELF_WAIT'
  | 'HOLDFAST_BLOCKED_CLIENT';

/** A warning, see `onWarning`. */
export interface HoldfastWarning {
  readonly code: HoldfastWarningCode;
  readonly message: string;
  /** The key of the lock, if the warning is about one. */
  readonly key: string | undefined;
}

export class Warner {
  readonly #settings: Settings;
  readonly #watchdog: Watchdog;
  /** The calls that were reported. */
  readonly #told = new WeakSet<object>();
  /** The codes that were printed. */
  readonly #printed = new Set<string>();
  #quietUntil = 0;
  #blockedUntil = 0;

  constructor(settings: Settings, watchdog: Watchdog) {
    this.#settings = settings;
    this.#watchdog = watchdog;
  }

  /** A call has waited for so many ms, behind a lease of this process if one is given. */
  waits(request: AcquireRequest, waited: number, lease?: LeaseRecord): void {
    const { clock, longWait, onWarning } = this.#settings;
    if (waited < longWait || this.#told.has(request)) return;
    const now = clock.now();
    if (now < this.#quietUntil) return;
    if (onWarning === undefined && this.#printed.has('HOLDFAST_SELF_WAIT')) return;
    const own = lease ?? this.#holder(request.key);
    const held = own === undefined ? 0 : now - own.grantedAt;
    if (onWarning === undefined && held < longWait) return;
    this.#told.add(request);
    this.#quietUntil = now + longWait;
    void this.#tell((texts) =>
      held < longWait
        ? texts.longWait(request.key, waited)
        : texts.selfWait(request.key, waited, held),
    );
  }

  /** A request has no reply, because the client waits for the reply to this command. */
  blocked(command: string): void {
    const { clock, longWait } = this.#settings;
    const now = clock.now();
    if (now < this.#blockedUntil) return;
    this.#blockedUntil = now + longWait;
    void this.#tell((texts) => texts.blocked(command));
  }

  #holder(key: string): LeaseRecord | undefined {
    for (const record of this.#watchdog.all()) if (record.key === key) return record;
    return undefined;
  }

  async #tell(make: (texts: typeof Texts) => HoldfastWarning): Promise<void> {
    try {
      const warning = make(await import('./warnings.js'));
      const { code, message } = warning;
      const { onWarning } = this.#settings;
      if (onWarning !== undefined) await (onWarning(warning) as unknown);
      else if (!this.#printed.has(code)) {
        this.#printed.add(code);
        process.emitWarning(message, { type: 'HoldfastWarning', code });
      }
    } catch (error) {
      process.emitWarning(`Holdfast: onWarning failed: ${String(error)}`, 'HoldfastWarning');
    }
  }
}
