/**
 * The wake channel of a process at the present master of a Sentinel deployment, for clients that do
 * not tell whether they have subscribed again.
 *
 *     opening --confirmed--> live --connection lost, another master--> lost --confirmed--> live
 *
 * Attempts follow until one succeeds, also while an earlier one hangs, which may wait for a master
 * that does not run.
 */
import type { MasterView, Subscription, SubscriptionListener } from '../clients/port.js';
import { systemClock, type Timer } from '../../base/clock.js';
import { growing } from '../../base/retry.js';
import type { WakeChannel } from '../port.js';

const DELAY = growing(50, 1000);

/** Rejects if the first attempt fails; nothing is left then. */
export async function openMasterChannel(
  view: MasterView,
  name: string,
  listener: SubscriptionListener,
): Promise<WakeChannel> {
  const channel = new MasterChannel(view, name, listener);
  await channel.open();
  return channel;
}

class MasterChannel implements WakeChannel {
  readonly name: string;
  readonly #view: MasterView;
  readonly #listener: SubscriptionListener;
  readonly #unwatch: () => void;
  /** Counts the masters: a late success at an earlier one does not count. */
  #era = 0;
  #failures = 0;
  #subscription: Subscription | undefined;
  #timer: Timer | undefined;
  #closed = false;

  constructor(view: MasterView, name: string, listener: SubscriptionListener) {
    this.name = name;
    this.#view = view;
    this.#listener = listener;
    this.#unwatch = view.onChange(() => this.#lost());
  }

  async open(): Promise<void> {
    try {
      await this.#subscribe();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#era += 1;
    this.#unwatch();
    this.#timer?.cancel();
    await this.#subscription?.close();
  }

  async #subscribe(): Promise<boolean> {
    const era = this.#era;
    let over = false;
    const subscription: Subscription = await this.#view.subscribe(this.name, {
      message: (payload) => {
        if (this.#subscription === subscription) this.#listener.message(payload);
      },
      over: () => {
        over = true;
        if (this.#subscription === subscription) this.#lost();
      },
      ended: this.#listener.ended,
    });
    if (era !== this.#era || over || this.#subscription !== undefined) {
      await subscription.close();
      if (this.#subscription === undefined) throw new Error('the master changed');
      return false;
    }
    this.#subscription = subscription;
    this.#failures = 0;
    this.#timer?.cancel();
    return true;
  }

  #lost(): void {
    const before = this.#subscription;
    this.#era += 1;
    if (before === undefined) return;
    this.#subscription = undefined;
    void before.close();
    this.#listener.down();
    this.#again();
  }

  #again(): void {
    if (this.#closed || this.#subscription !== undefined) return;
    this.#failures += 1;
    this.#timer = systemClock.after(DELAY(this.#failures), () => this.#again(), true);
    this.#subscribe().then(
      (first) => {
        if (first) this.#listener.up();
      },
      () => undefined,
    );
  }
}
