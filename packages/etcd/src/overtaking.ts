/**
 * A read that gives a state a new version. etcd puts the value of a key once more, so the revision
 * of its last change is new, and puts a mark in the same transaction. While both have the same
 * revision, the present version is that of an `overtake`. Swaps do not touch the mark.
 */
import type { KeyValue, RangeAnswer, TxnAnswer } from './etcd-register.js';
import type { Answer, Gateway } from './gateway.js';
import { base64, type Names } from './keys.js';

const kvOf = (range: RangeAnswer | undefined): KeyValue | undefined => range?.kvs?.[0];

export class Overtaking {
  readonly #gateway: Gateway;
  readonly #names: Names;

  constructor(gateway: Gateway, names: Names) {
    this.#gateway = gateway;
    this.#names = names;
  }

  /** The key with its new version, and the answer that has it. */
  async of(key: string): Promise<{ kv: KeyValue | undefined; answer: Answer<TxnAnswer> }> {
    const name = base64(this.#names.state(key));
    const mark = base64(this.#names.mark(key));
    const look = { request_range: { key: name } };
    const success = [look, { request_range: { key: mark, keys_only: true } }];
    const found = await this.#gateway.call<TxnAnswer>('kv/txn', { success }, 'read');
    const [kv, marked] = (found.body.responses ?? []).map((one) => kvOf(one.response_range));
    if (kv === undefined || kv.mod_revision === marked?.mod_revision) return { kv, answer: found };
    const compare = [
      // no other `overtake` since the look, and the key is still there
      { result: 'EQUAL', target: 'MOD', key: mark, mod_revision: marked?.mod_revision ?? '0' },
      { result: 'GREATER', target: 'VERSION', key: name, version: '0' },
    ];
    const puts = [
      { request_put: { key: name, ignore_value: true } },
      { request_put: { key: mark, value: '' } },
    ];
    // may be repeated: the mark then has another revision, and it only reads
    const txn = { compare, success: [...puts, look], failure: [look] };
    const answer = await this.#gateway.call<TxnAnswer>('kv/txn', txn, 'read');
    return { kv: kvOf(answer.body.responses?.at(-1)?.response_range), answer };
  }
}
