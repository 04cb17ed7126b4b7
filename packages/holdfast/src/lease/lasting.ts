/**
 * Leases that last: their process listens, so that it hears of a forced release at once.
 *
 *     quiet --a lease is held for a claim window--> listening --no such lease--> quiet
 *
 * Short locks open no connection, and cost one check in a claim window. A longer lease costs the
 * wake connection, and one `renew` with the channel's name.
 */
import type { Clock, Timer } from '../base/clock.js';
import type { Settings } from '../base/options.js';
import type { Requests } from '../store/requests.js';
import type { Wake } from '../store/wake-channel.js';
import type { Root } from './root.js';
import type { Watchdog } from './watchdog.js';

/** Commands with the channel's name under way: behind thousands, renewals would come too late. */
const TOLD_MAX = 50;

export interface LastingParts {
  readonly settings: Settings;
  readonly requests: Requests;
  readonly watchdog: Watchdog;
  readonly wake: Wake;
}

export class Lasting {
  readonly #parts: LastingParts;
  readonly #clock: Clock;
  #timer: Timer | undefined;
  /** False if `begin` has to be called for a further lease. Only this class writes it. */
  begun = false;
  #listening = false;
  #closed = false;
  readonly #untold: Root[] = [];
  #telling = 0;

  constructor(parts: LastingParts) {
    this.#parts = parts;
    this.#clock = parts.settings.clock;
    const { wake, watchdog, requests } = parts;
    // on a cluster, the channel of one more node is open
    const up = (): void => {
      if (requests.shardOf !== undefined) for (const root of watchdog.all()) root.channel = '';
      if (this.#listening) this.#check();
    };
    wake.also({ push: () => undefined, up });
  }

  begin(ms: number = this.#parts.settings.claimWindow): void {
    if (this.begun) return;
    this.begun = true;
    this.#timer = this.#clock.after(ms, () => this.#check(), true);
  }

  /** Also checks the lease. */
  report(root: Root, waiting: number): void {
    // the holder is a task too
    void this.#tell(root, this.#parts.wake.channel, waiting + 1);
  }

  close(): void {
    this.#closed = true;
    this.begun = true;
    this.#timer?.cancel();
  }

  #check(): void {
    this.#timer?.cancel();
    this.begun = this.#closed;
    const { settings, watchdog, wake } = this.#parts;
    const now = this.#clock.now();
    const { claimWindow } = settings;
    let lasts = false;
    let next = 0;
    for (const root of watchdog.all()) {
      next ||= claimWindow;
      const left = root.hold.grantedAt + claimWindow - now;
      // together with those that are to be told soon
      if (left > claimWindow / 8) {
        next = Math.min(next, left);
        continue;
      }
      lasts = true;
      if (wake.channel === '' || root.channel === wake.channel) continue;
      root.channel = wake.channel;
      this.#untold.push(root);
    }
    this.#tellNext();
    if (lasts !== this.#listening) {
      this.#listening = lasts;
      if (lasts) wake.enter();
      else wake.leave();
    }
    if (next > 0) this.begin(next);
  }

  #tellNext(): void {
    while (this.#telling < TOLD_MAX && !this.#closed) {
      const root = this.#untold.pop();
      if (root === undefined) return;
      if (!root.held) continue;
      this.#telling += 1;
      void this.#tell(root, root.channel).then(() => {
        this.#telling -= 1;
        this.#tellNext();
      });
    }
  }

  /** Where this process listens, and who waits. Extends no lease. */
  #tell(root: Root, channel: string, tasks?: number): Promise<void> {
    const { key, id } = root;
    const { requests, settings, watchdog } = this.#parts;
    const { retention } = settings;
    root.channel = channel;
    const about = tasks === undefined ? { channel } : { channel, tasks };
    const command = { op: 'renew', key, id, ttl: 1, retention, ...about } as const;
    return requests.send(command).then(
      ({ status }) => {
        // it was ended before the store knew the channel
        if (status === 'absent' && root.held) void watchdog.gone(root);
      },
      () => {
        root.channel = '';
      },
    );
  }
}
