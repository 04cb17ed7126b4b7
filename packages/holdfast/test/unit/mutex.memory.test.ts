/** The mutex in memory, beyond the suites that run on every backend. */
import { until } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { Command, Reply } from '../../src/engine/commands.js';
import { Holdfast } from '../../src/index.js';
import { MemoryStore } from '../../src/store/memory/memory-store.js';
import { MEMORY, onBackends } from '../support/backends.js';
import { later, queued } from '../suites/helpers.js';
import { mutexSuite } from '../suites/mutex.js';

onBackends('mutex', [MEMORY], mutexSuite);

/**
 * Delays the first release with a hand-off, as if the server had to load the script first or the
 * network had lost the request.
 */
class Overtaking extends MemoryStore {
  held: (() => void) | undefined;
  #done = false;

  override execute(batch: readonly Command[]): Promise<Reply>[] {
    return batch.map((command) => {
      if (this.#done || command.op !== 'release' || command.to === '') return this.#now(command);
      this.#done = true;
      return new Promise((resolve) => {
        this.held = () => resolve(this.#now(command));
      });
    });
  }

  #now(command: Command): Promise<Reply> {
    return super.execute([command])[0] as Promise<Reply>;
  }
}

it('a release that overtakes an earlier hand-off leaves no lease behind', async () => {
  const store = new Overtaking();
  await using holdfast = new Holdfast(store, { ttl: 60_000 });
  const first = await holdfast.mutex('key').acquire();
  const waiting = holdfast.mutex('key').acquire();
  await queued(holdfast, 'key', 1);
  const passing = first.release();
  const second = await waiting;
  const releasing = later(second.release());
  // The store considered the second one a waiter that leaves.
  await queued(holdfast, 'key', 0);
  await until(() => store.held !== undefined);
  store.held?.();
  expect(await passing).toBe('freed');
  expect(await releasing).toBe('freed');
  await until(async () => (await holdfast.inspect('key')) === null);
  expect(second.signal.aborted).toBe(false);
});

it('a close that overtakes a hand-off leaves no lease behind', async () => {
  const store = new Overtaking();
  const holdfast = new Holdfast(store, { ttl: 60_000 });
  await using other = new Holdfast(store);
  const first = await holdfast.mutex('key').acquire();
  const waiting = holdfast.mutex('key').acquire();
  await queued(other, 'key', 1);
  const passing = first.release();
  await waiting;
  const closing = holdfast.close({ grace: 0 });
  await queued(other, 'key', 0);
  store.held?.();
  expect(await passing).toBe('freed');
  await closing;
  await until(async () => (await other.inspect('key')) === null);
});
