/**
 * Leases that a push says were ended by force. The push carries no proof, so the store is asked at
 * once, and the lease is lost only if the store says so: a forged push costs one question.
 *
 * The store tells each process of one hold only of an owner's lease. If that one is lost, the store
 * is asked about the others that are held here.
 */
import type { Settings } from '../options.js';
import type { Requests } from '../store/requests.js';
import type { LeaseRecord } from './lease-record.js';
import type { Watchdog } from './watchdog.js';

export class Revocations {
  readonly #requests: Requests;
  readonly #watchdog: Watchdog;
  readonly #settings: Settings;
  /** Ids of leases that the store is being asked about; true if another push came meanwhile. */
  readonly #asking = new Map<string, boolean>();

  constructor(requests: Requests, watchdog: Watchdog, settings: Settings) {
    this.#requests = requests;
    this.#watchdog = watchdog;
    this.#settings = settings;
  }

  /** A push says that the lease of an acquisition was ended. */
  async heard(id: string): Promise<void> {
    const record = this.#watchdog.find(id);
    if (record === undefined) return;
    await this.#check(record);
    if (record.state === 'lost') this.foundLost(record);
  }

  /** A lease was ended without a word from here: its owner's other holds may have ended with it. */
  foundLost(record: LeaseRecord): void {
    for (const one of this.#watchdog.owned.ofSameLease(record)) void this.#check(one);
  }

  async #check(record: LeaseRecord): Promise<void> {
    const { id } = record;
    const asking = this.#asking.has(id);
    // an answer that is under way may be from before this push
    this.#asking.set(id, asking);
    if (asking) return;
    let known = false;
    while (!known && this.#watchdog.find(id) === record) {
      this.#asking.set(id, false);
      known = (await this.#verify(record)) && this.#asking.get(id) !== true;
    }
    this.#asking.delete(id);
  }

  /** Asks the store; false if that has to be done again. */
  async #verify(record: LeaseRecord): Promise<boolean> {
    const { key, id } = record;
    const { retention } = this.#settings;
    try {
      const reply = await this.#requests.send({
        op: 'poll',
        key,
        ids: [id],
        patience: 0,
        retention,
      });
      if (reply.standings[0]?.status === 'granted') return true;
    } catch {
      await this.#pause();
      return false;
    }
    // the store may not have been told yet that the lease was passed on to this acquisition
    if (!record.confirmed) {
      await (record.settled ?? this.#pause());
      return false;
    }
    this.#watchdog.lose(record, 'forced');
    return true;
  }

  #pause(): Promise<void> {
    const { clock, claimWindow } = this.#settings;
    return new Promise((resolve) => void clock.after(claimWindow / 4, resolve, true));
  }
}
