/**
 * Pushes that report a forced release. They carry no proof, so the store must confirm the loss: a
 * forged push costs one request.
 *
 * The store notifies each process of one hold of an owner's lease only. If that is lost, the store
 * is asked about the other local holds.
 */
import type { Settings } from '../base/options.js';
import { retry } from '../base/retry.js';
import type { Requests } from '../store/requests.js';
import type { Root } from './root.js';
import type { Watchdog } from './watchdog.js';

export class Revocations {
  readonly #requests: Requests;
  readonly #watchdog: Watchdog;
  readonly #settings: Settings;
  /** The ids with a request under way; true if another push came meanwhile. */
  readonly #asking = new Map<string, boolean>();

  constructor(requests: Requests, watchdog: Watchdog, settings: Settings) {
    this.#requests = requests;
    this.#watchdog = watchdog;
    this.#settings = settings;
  }

  async heard(id: string): Promise<void> {
    const root = this.#watchdog.find(id);
    if (root === undefined) return;
    await this.#check(root);
    if (root.hold.state === 'lost') this.foundLost(root);
  }

  foundLost(root: Root): void {
    for (const one of this.#watchdog.owned.ofSameLease(root)) void this.#check(one);
  }

  async #check(root: Root): Promise<void> {
    const { id } = root;
    const asking = this.#asking.has(id);
    // an answer under way may be older than this push
    this.#asking.set(id, asking);
    if (asking) return;
    const { clock, claimWindow } = this.#settings;
    const attempt = async (): Promise<true | undefined> => {
      this.#asking.set(id, false);
      await this.#ask(root);
      return this.#asking.get(id) === false ? true : undefined;
    };
    await retry(attempt, {
      clock,
      delay: () => claimWindow / 4,
      continues: () => this.#watchdog.find(id) === root,
      weak: true,
    });
    this.#asking.delete(id);
  }

  /** Ends the lease if the store does not know it. Rejects without an answer. */
  async #ask(root: Root): Promise<void> {
    const { key, id } = root;
    const { retention } = this.#settings;
    const command = { op: 'poll', key, ids: [id], patience: 0, retention } as const;
    const reply = await this.#requests.send(command);
    if (reply.standings[0]?.status === 'granted') return;
    await this.#watchdog.gone(root, 'forced');
  }
}
