/**
 * The wake channels of a process on a cluster: one sharded channel at each master, with a hash tag
 * whose slot the master owns ([decision 17](../../../../../docs/decisions/0017-cluster.md)).
 *
 *     opening --confirmed--> live
 *        \--failed--> over <--/ connection lost, slot moved, master no more
 *
 * While a master has no live channel, commands for its keys name none, and their waiters poll. Each
 * opened channel makes every waiter repeat its request.
 */
import type { ClusterView, Subscription } from '../clients/port.js';
import { isRedirection } from '../clients/cluster.js';
import { systemClock, type Timer } from '../../base/clock.js';
import { growing } from '../../base/retry.js';
import { StoreFailure } from '../port.js';
import { slotOf } from './hash-slot.js';

const DELAY = growing(100, 1000);
/** A master with a single slot needs 16,384 on average. */
const TAGS_MAX = 500_000;

interface NodeChannel {
  readonly name: string;
  readonly slot: number;
  phase: 'opening' | 'live' | 'over';
  subscription?: Subscription;
}

/** No method may throw. */
export interface ChannelEvents {
  message(payload: string): void;
  /** A channel is live. Earlier messages of its node may be lost. */
  up(): void;
  readonly ended?: AbortSignal | undefined;
}

export class ClusterChannels {
  readonly #view: ClusterView;
  readonly #name: string;
  readonly #events: ChannelEvents;
  readonly #channels = new Map<string, NodeChannel>();
  /** Until the next attempt may begin. */
  #timer: Timer | undefined;
  #failures = 0;
  #closed = false;

  constructor(view: ClusterView, name: string, events: ChannelEvents) {
    this.#view = view;
    this.#name = name;
    this.#events = events;
  }

  /**
   * Resolves when the attempts at all known masters have ended; rejects if none succeeded. Attempts
   * for the others follow.
   */
  async open(): Promise<void> {
    // unknown while a client connects
    if (this.#view.masters().length === 0) await this.#view.refresh('');
    const attempts = this.#view.masters().map((address) => this.#open(address));
    const ends = await Promise.allSettled(attempts);
    if (ends.every(({ status }) => status === 'rejected')) {
      const [first] = ends;
      throw first?.status === 'rejected' ? first.reason : unknownMaster('');
    }
    this.#openMissing();
  }

  at(slot: number): string {
    const address = this.#view.masterOf(slot);
    if (address === undefined) return '';
    const channel = this.#channels.get(address);
    if (channel?.phase === 'live') {
      if (this.#view.masterOf(channel.slot) === address) return channel.name;
      void end(channel);
    }
    this.#openMissing();
    return '';
  }

  live(): string[] {
    const live = [...this.#channels.values()].filter(({ phase }) => phase === 'live');
    return live.map(({ name }) => name);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await Promise.all([...this.#channels.values()].map(end));
  }

  #openMissing(): void {
    if (this.#closed || this.#timer !== undefined) return;
    this.#forgetOthers();
    const without = this.#view
      .masters()
      .filter((address) => this.#channels.get(address)?.phase !== 'live');
    this.#failures = without.length > 0 ? this.#failures + 1 : 0;
    if (without.length === 0) return;
    // an attempt at a dead node may last until its replacement
    const missing = without.filter((address) => this.#channels.get(address)?.phase !== 'opening');
    for (const address of missing) {
      this.#open(address).then(
        () => this.#events.up(),
        // the client has not seen it
        (error: unknown) => isRedirection(error) && void this.#view.refresh(address),
      );
    }
    const again = (): void => {
      this.#timer = undefined;
      this.#openMissing();
    };
    this.#timer = systemClock.after(DELAY(this.#failures), again, true);
  }

  async #open(address: string): Promise<void> {
    const channel: NodeChannel = { ...this.#nameAt(address), phase: 'opening' };
    this.#channels.set(address, channel);
    const over = (): void => {
      void end(channel);
      this.#openMissing();
    };
    try {
      channel.subscription = await this.#view.subscribe(address, channel.name, {
        message: (payload) => this.#events.message(payload),
        over,
        ended: this.#events.ended,
      });
    } catch (error) {
      channel.phase = 'over';
      throw error;
    }
    if (channel.phase === 'opening' && !this.#closed) channel.phase = 'live';
    else await end(channel);
  }

  #forgetOthers(): void {
    const masters = new Set(this.#view.masters());
    for (const [address, channel] of this.#channels) {
      if (masters.has(address)) continue;
      this.#channels.delete(address);
      void end(channel);
    }
  }

  /** Its slot belongs to the master. */
  #nameAt(address: string): { name: string; slot: number } {
    for (let tag = 0; tag < TAGS_MAX; tag++) {
      const name = `${this.#name}{${tag}}`;
      const slot = slotOf(name);
      if (this.#view.masterOf(slot) === address) return { name, slot };
    }
    throw unknownMaster(address);
  }
}

async function end(channel: NodeChannel): Promise<void> {
  channel.phase = 'over';
  await channel.subscription?.close();
}

function unknownMaster(address: string): StoreFailure {
  const message = `the client knows no slot of the master "${address}"`;
  return new StoreFailure(message, 'unanswered', undefined);
}
