/** The removal of states that may be forgotten, and of old messages: a page of each at a time. */
import type { KeyValue, RangeAnswer } from './etcd-register.js';
import type { Gateway } from './gateway.js';
import { type Names, partsOf, rangeOf, textOf } from './keys.js';

/**
 * After so many new keys of this process, it looks at the next page, which has more of them. A
 * process may make few keys, so the first time and the first page are random.
 */
const EVERY = 100;
const PAGE = 200;
/** The keys that one request removes. */
const TOGETHER = 60;

export class Sweeps {
  readonly #gateway: Gateway;
  readonly #names: Names;
  readonly #random: () => number;
  #added: number;
  #isRunning = false;
  /** Where the next look begins; `''` for the first key, not set before the first look. */
  #after: string | undefined;
  /** The revision of the last look: messages of before it have arrived. */
  #revision = '';

  /** @param random in [0, 1), for tests */
  constructor(gateway: Gateway, names: Names, random: () => number = Math.random) {
    this.#gateway = gateway;
    this.#names = names;
    this.#random = random;
    this.#added = Math.floor(random() * EVERY);
  }

  added(key: string): void {
    this.#added += 1;
    if (this.#added < EVERY || this.#isRunning) return;
    this.#added = 0;
    this.#isRunning = true;
    this.#after ??= this.#names.state(this.#near(key));
    void this.#next()
      .catch(() => undefined)
      .finally(() => (this.#isRunning = false));
  }

  /** A place among keys that begin as this one does: etcd cannot tell a random key. */
  #near(key: string): string {
    const cut = Math.floor(this.#random() * (key.length + 1));
    return key.slice(0, cut) + String.fromCodePoint(33 + Math.floor(this.#random() * 94));
  }

  async #next(): Promise<void> {
    const start = this.#names.state('');
    const range = { ...rangeOf(start, this.#after || start), limit: PAGE };
    const { body, time } = await this.#gateway.call<RangeAnswer>('kv/range', range, 'read');
    const { header, kvs = [], more = false } = body;
    const last = kvs.at(-1);
    this.#after = more && last !== undefined ? `${textOf(last.key)}\0` : '';
    await this.#remove(kvs.filter(({ value = '' }) => partsOf(value).forgetAt <= time));
    if (this.#revision !== '') await this.#removeMessages(this.#revision);
    this.#revision = header.revision ?? '';
  }

  async #removeMessages(max_mod_revision: string): Promise<void> {
    const messages = rangeOf(this.#names.messages());
    const range = { ...messages, limit: PAGE, keys_only: true, max_mod_revision };
    const { body } = await this.#gateway.call<RangeAnswer>('kv/range', range, 'read');
    await this.#remove(body.kvs ?? []);
  }

  /** Removes keys that have not changed. */
  async #remove(kvs: readonly KeyValue[]): Promise<void> {
    for (let from = 0; from < kvs.length; from += TOGETHER) {
      const success = kvs.slice(from, from + TOGETHER).map(({ key, mod_revision }) => ({
        request_txn: {
          compare: [{ result: 'EQUAL', target: 'MOD', key, mod_revision }],
          success: [{ request_delete_range: { key } }],
        },
      }));
      await this.#gateway.call('kv/txn', { success }, 'change');
    }
  }
}
