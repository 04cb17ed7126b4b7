import { duration, known } from '../base/checks.js';
import { Core } from '../acquire/core.js';
import { atCaller } from '../acquire/failures.js';
import { badOption } from '../base/errors.js';
import { type HoldfastOptions, resolveSettings, type Settings } from '../base/options.js';
import { shownAs } from '../base/shown.js';
import { PREFIX } from '../base/prefix.js';
import type { Store } from '../store/port.js';

/**
 * The result of `memory()`, `redis(client)` or `register(port)`. Only Holdfast calls its methods.
 */
export interface HoldfastStore {
  readonly label: string;
  readonly execute: (...args: never) => unknown;
  readonly listen: (...args: never) => unknown;
}

export type CoreOptions = Omit<HoldfastOptions, 'closeOnSignals'>;

/**
 * An instance without locks. Functions such as `createMutex` make them, so a program carries only
 * the code of those that it imports. `Holdfast` extends this class and has all locks as methods.
 */
export class HoldfastCore implements AsyncDisposable {
  static {
    shownAs(this, ({ id, core: { settings, store } }) => {
      const { label, prefix } = settings;
      return { id, label, store: store.label, prefix };
    });
  }

  readonly #core: Core;

  /** @throws HOLDFAST_BAD_OPTION if `store` is not a store, or an option is not valid */
  constructor(store: HoldfastStore, options: CoreOptions = {}) {
    if (!isStore(store)) throw badOption('store', 'memory() or redis(client)', store);
    const settings = resolveSettings(options);
    const { closeOnSignals } = options as HoldfastOptions;
    if (closeOnSignals !== undefined && new.target === HoldfastCore) {
      throw badOption('closeOnSignals', 'left out: only Holdfast has it', closeOnSignals);
    }
    const { prefix } = settings;
    const own = prefix === PREFIX ? store : (store.space?.(prefix) ?? store);
    this.#core = new Core(withReplicas(own, settings), settings, (key, error) =>
      this.explain(key, error),
    );
  }

  /** @internal */
  get core(): Core {
    return this.#core;
  }

  /**
   * Completes an acquisition's error for its caller.
   * @internal
   */
  protected explain(_key: string, error: unknown): unknown {
    return atCaller(error);
  }

  /**
   * Opens the connection for wake-ups in advance, and keeps it open until `close()`, regardless of
   * `linger`. Otherwise the first acquisition that waits opens it, in three round trips or more.
   * Never needed for correctness; does nothing for a store in memory.
   *
   * Rejects with `HOLDFAST_UNREACHABLE` if the first attempt fails, or the connection is not open
   * within `unreachableAfter` ms. Attempts continue in the background; until one succeeds, waiting
   * acquisitions poll the store.
   */
  async warmUp(): Promise<void> {
    await this.#core.warmUp();
  }

  /** Unique; the messages of `diagnostics_channel` name it. */
  get id(): string {
    return this.#core.id;
  }

  /**
   * Closes this instance. Waiting acquisitions reject with `HOLDFAST_CLOSED` and leaders step down.
   * Leases are renewed until their holders release them, for at most `grace` ms, which a further
   * call may shorten; then they are released, and their signals abort. Requests under way are
   * awaited for at most two request timeouts, and their grants are released. When the promise
   * resolves, Holdfast has no timer, listener or connection left. The given client stays open.
   */
  async close(options: { readonly grace?: number | undefined } = {}): Promise<void> {
    known('options', options, CLOSE);
    const grace = duration('grace', options.grace, this.#core.settings.grace, 0, 86_400_000);
    await this.#core.close(grace);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

const CLOSE: ReadonlySet<string> = new Set(['grace']);

function withReplicas(store: Store, settings: Settings): Store {
  if (settings.replicas === 0) return store;
  const acknowledged = store.acknowledged?.(settings);
  if (acknowledged !== undefined) return acknowledged;
  throw badOption('replicas', '0 with this store or client', settings.replicas);
}

export function isStore(store: unknown): store is Store {
  const { execute, listen } = (store ?? {}) as Partial<Store>;
  return typeof execute === 'function' && typeof listen === 'function';
}
