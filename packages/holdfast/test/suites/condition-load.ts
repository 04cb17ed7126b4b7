/** Producers and consumers with a small bounded buffer: every item that is put in is taken out. */
import { expect, it } from 'vitest';
import type { Holdfast } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { freshKey, turn, unused } from './helpers.js';

const PLACES = 3;

/** The bounded buffer of Java's `Condition` documentation, with a Holdfast mutex. */
class Buffer {
  readonly items: number[] = [];
  most = 0;

  async put(holdfast: Holdfast, key: string, item: number): Promise<void> {
    const mutex = holdfast.mutex(key);
    await mutex.run(async (lease) => {
      await mutex.condition('not full').awaitUntil(lease, () => this.items.length < PLACES);
      this.items.push(item);
      this.most = Math.max(this.most, this.items.length);
      await turn();
      await mutex.condition('not empty').signal(lease);
    });
  }

  async take(holdfast: Holdfast, key: string): Promise<number> {
    const mutex = holdfast.mutex(key);
    return mutex.run(async (lease) => {
      await mutex.condition('not empty').awaitUntil(lease, () => this.items.length > 0);
      const item = this.items.shift() as number;
      await mutex.condition('not full').signal(lease);
      return item;
    });
  }
}

export function conditionLoad(backend: Backend): void {
  it('takes every item once', async () => {
    const instances = await Promise.all([backend.make(), backend.make(), backend.make()]);
    const key = freshKey();
    const buffer = new Buffer();
    const taken: number[] = [];
    const each = 12;
    const workers = instances.flatMap((holdfast, who) => [
      (async () => {
        for (let item = 0; item < 2 * each; item++) {
          await buffer.put(holdfast, key, who * 1000 + item);
        }
      })(),
      ...[0, 1].map(async () => {
        for (let count = 0; count < each; count++) taken.push(await buffer.take(holdfast, key));
      }),
    ]);
    await Promise.all(workers);
    const put = instances.flatMap((_, who) =>
      Array.from({ length: 2 * each }, (_item, index) => who * 1000 + index),
    );
    expect(taken.sort((a, b) => a - b)).toEqual(put);
    expect(buffer.most).toBeLessThanOrEqual(PLACES);
    await unused(instances[0], key);
  });
}
