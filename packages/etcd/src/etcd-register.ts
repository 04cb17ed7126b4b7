/**
 * The register on etcd: one key for each state, replaced by a transaction that compares the
 * revision of its last change. etcd counts revisions for all keys together, so a deleted key never
 * has an old one again.
 *
 * Invariants:
 * - A swap is sent once, unless etcd says that it executed nothing.
 * - The messages of a swap are changes of the same transaction. Those that do not fit follow.
 * - Reads are linearizable: etcd asks a majority before each.
 */
import {
  type Change,
  Collector,
  type Finding,
  type Register,
  RegisterError,
  type Scanned,
  type Swap,
  type Swapped,
  type TimeLimit,
  type Versioned,
} from 'holdfast/register';
import { findingsOf } from './findings.js';
import { type Answer, Gateway } from './gateway.js';
import { base64, Names, partsOf, rangeOf, textOf, valueOf } from './keys.js';
import { Listening } from './listening.js';
import type { Settings } from './options.js';
import { Overtaking } from './overtaking.js';
import { Sweeps } from './sweeps.js';

/** The version of a key without a value. */
const NONE = '0';
/** etcd takes this many operations in a transaction. */
const OPERATIONS = 128;
/** The most keys of one request, and the operations of each of them. */
const TOGETHER = 64;
/** The keys of a page of a scan. */
const PAGE = 200;

/** A key and its value, as etcd tells them. Fields with 0 or an empty text are left out. */
export interface KeyValue {
  readonly key: string;
  readonly value?: string;
  readonly mod_revision: string;
}

export interface RangeAnswer {
  readonly header: { readonly revision?: string };
  readonly kvs?: readonly KeyValue[];
  readonly more?: boolean;
}

export interface TxnAnswer {
  readonly header: { readonly revision: string };
  readonly succeeded?: boolean;
  readonly responses?: readonly {
    readonly response_range?: RangeAnswer;
    readonly response_txn?: { readonly succeeded?: boolean };
  }[];
}

/** The operations of a swap: those of its transaction, and messages that did not fit. */
interface Parts {
  readonly txn: object;
  readonly rest: readonly object[];
}

export class EtcdRegister implements Register {
  readonly label = 'etcd';
  readonly stateMax: number;
  readonly listen?: NonNullable<Register['listen']>;
  readonly #gateway: Gateway;
  readonly #names: Names;
  readonly #sweeps: Sweeps;
  readonly #overtaking: Overtaking;
  readonly #reads: Collector<string, Versioned>;
  readonly #swaps: Collector<Swap, Swapped>;

  constructor(endpoints: readonly string[], settings: Settings) {
    this.stateMax = settings.stateMax;
    this.#gateway = new Gateway(endpoints, settings);
    this.#names = new Names(settings.root);
    this.#sweeps = new Sweeps(this.#gateway, this.#names);
    this.#overtaking = new Overtaking(this.#gateway, this.#names);
    const terms = { max: TOGETHER, overlaps: true };
    this.#reads = new Collector((keys) => this.#readAll(keys), terms);
    // if the states of all together are too long for etcd, it refuses, and each is sent alone
    this.#swaps = new Collector((swaps) => this.#swapAll(swaps), {
      ...terms,
      keyOf: ({ key }) => key,
    });
    if (!settings.listen) return;
    const listening = new Listening(this.#gateway, this.#names);
    this.listen = (channel, listener) => listening.listen(channel, listener);
  }

  read(key: string): Promise<Versioned> {
    return this.#reads.add(key);
  }

  swap(key: string, version: string, change: Change): Promise<Swapped> {
    return this.#swaps.add({ key, version, change });
  }

  async overtake(key: string): Promise<Versioned> {
    const { kv, answer } = await this.#overtaking.of(key);
    return versionedOf(kv, answer);
  }

  async *scan(prefix: string, within: TimeLimit): AsyncIterable<Scanned> {
    const start = this.#names.state(prefix);
    for (let from = start; ; ) {
      const range = { ...rangeOf(start, from), limit: PAGE };
      const answer = await within(this.#gateway.call<RangeAnswer>('kv/range', range, 'read'));
      const { kvs = [], more = false } = answer.body;
      for (const kv of kvs) {
        from = `${textOf(kv.key)}\0`;
        yield { key: this.#names.keyOf(textOf(kv.key)), found: versionedOf(kv, answer) };
      }
      if (!more) return;
    }
  }

  async examine(): Promise<readonly Finding[]> {
    return findingsOf(this.#gateway);
  }

  trouble(): string | undefined {
    return this.#gateway.trouble;
  }

  /** Ends the measurement of the clocks. The watches end with their channels. */
  async close(): Promise<void> {
    this.#gateway.close();
  }

  async #readAll(keys: readonly string[]): Promise<Versioned[]> {
    const ranges = keys.map((key) => ({ key: base64(this.#names.state(key)) }));
    const [only] = ranges;
    if (only !== undefined && ranges.length === 1) {
      const answer = await this.#gateway.call<RangeAnswer>('kv/range', only, 'read');
      return [versionedOf(answer.body.kvs?.[0], answer)];
    }
    const success = ranges.map((request_range) => ({ request_range }));
    const answer = await this.#gateway.call<TxnAnswer>('kv/txn', { success }, 'read');
    return keys.map((_, at) => {
      return versionedOf(answer.body.responses?.[at]?.response_range?.kvs?.[0], answer);
    });
  }

  /** Transactions inside of one have results of their own. */
  async #swapAll(swaps: readonly Swap[]): Promise<Swapped[]> {
    const most = swaps.length === 1 ? OPERATIONS : TOGETHER;
    const all = swaps.map((swap, at) => this.#partsOf(swap, at, most));
    const [first] = all as [Parts];
    const success = all.map(({ txn }) => ({ request_txn: txn }));
    const txn = swaps.length === 1 ? first.txn : { success };
    const answer = await this.#gateway.call<TxnAnswer>('kv/txn', txn, 'change');
    const results =
      swaps.length === 1
        ? [answer.body]
        : (answer.body.responses ?? []).map(({ response_txn }) => response_txn);
    if (results.length !== swaps.length) {
      throw new RegisterError('unanswered', 'etcd did not answer each part of a transaction');
    }
    return swaps.map(({ key, version, change }, at) => {
      if (results[at]?.succeeded !== true) return false;
      this.#swapped(key, version, all[at]?.rest ?? []);
      return swappedOf(change, answer);
    });
  }

  /** @param place a number that no other swap of its request has */
  #partsOf({ key, version, change }: Swap, place: number, most: number): Parts {
    const name = base64(this.#names.state(key));
    const { state, forgetAt, messages } = change;
    const value = valueOf(state, Math.min(forgetAt, Number.MAX_SAFE_INTEGER));
    const own =
      state === ''
        ? { request_delete_range: { key: name } }
        : { request_put: { key: name, value } };
    const byChannel = new Map<string, string[]>();
    for (const { channel, text } of messages) {
      byChannel.set(channel, [...(byChannel.get(channel) ?? []), text]);
    }
    const puts = [...byChannel].map(([channel, texts]) => ({
      request_put: {
        key: base64(`${this.#names.messages(channel)}${place}`),
        value: base64(JSON.stringify(texts)),
      },
    }));
    const compare = [{ result: 'EQUAL', target: 'MOD', key: name, mod_revision: version }];
    const success = [own, ...puts.slice(0, most - 1)];
    return { txn: { compare, success }, rest: puts.slice(most - 1) };
  }

  /** After a swap: messages that did not fit into its transaction, and a look for old keys. */
  #swapped(key: string, version: string, rest: readonly object[]): void {
    for (let from = 0; from < rest.length; from += OPERATIONS) {
      const txn = { success: rest.slice(from, from + OPERATIONS) };
      // a lost message is found by polling
      void this.#gateway.call('kv/txn', txn, 'change').catch(() => undefined);
    }
    if (version === NONE) this.#sweeps.added(key);
  }
}

function versionedOf(kv: KeyValue | undefined, { time, latest }: Answer<unknown>): Versioned {
  if (kv === undefined) return { state: '', version: NONE, time, latest };
  const { state, forgetAt } = partsOf(kv.value ?? '');
  return { state: forgetAt <= time ? '' : state, version: kv.mod_revision, time, latest };
}

function swappedOf({ state }: Change, { body, time, latest }: Answer<TxnAnswer>): Swapped {
  return { version: state === '' ? NONE : body.header.revision, time, latest };
}
