/**
 * `close` and requests that are executed after the withdrawal of their acquisition: it waits for
 * their answers, within its limit, and withdraws what they were granted.
 */
import { expect, it } from 'vitest';
import type { Command, Reply } from '../../../src/engine/commands.js';
import { Holdfast } from '../../../src/index.js';
import { settle, VirtualClock } from '../../support/virtual-clock.js';
import { WatchedStore } from '../../support/watched-store.js';

/** A store that executes acquisitions later than all other commands. */
class LateStore extends WatchedStore {
  readonly #clock: VirtualClock;
  readonly #delay: number;
  /** True: the program has ended its client. The server still executes what was sent before. */
  ended = false;

  constructor(clock: VirtualClock, delay: number, of: WatchedStore) {
    super(clock, of.inner);
    this.#clock = clock;
    this.#delay = delay;
  }

  override execute(batch: readonly Command[]): Promise<Reply>[] {
    if (this.ended) return batch.map(() => new Promise(() => undefined));
    return batch.map((command) => {
      const execute = (): Promise<Reply> => super.execute([command])[0] as Promise<Reply>;
      if (command.op !== 'acquire') return execute();
      return new Promise((resolve) => {
        this.#clock.after(this.#delay, () => resolve(execute()), true);
      });
    });
  }
}

async function closing(delay: number, held: boolean, requestTimeout: number): Promise<unknown> {
  const clock = new VirtualClock();
  const store = new WatchedStore(clock);
  const other = new Holdfast(store, { clock });
  const holder = held ? await other.mutex('k').acquire({ ttl: 60_000 }) : undefined;
  const options = { clock, requestTimeout };
  const late = new LateStore(clock, delay, store);
  const closed = new Holdfast(late, options);
  const stop = new AbortController();
  const asked = closed.mutex('k').acquire({ ttl: 60_000, signal: stop.signal });
  const rejected = expect(asked).rejects.toMatchObject({ code: 'HOLDFAST_ABORTED' });
  await settle();
  stop.abort();
  await rejected;
  await clock.until(closed.close({ grace: 0 }));
  late.ended = true;
  await holder?.release();
  // after the time limit of the request
  await clock.advance(1000);
  const state = await other.inspect('k');
  const { holders = [], waiterCount = 0 } = state ?? {};
  return { holders: holders.length, waiters: waiterCount };
}

it.each([true, false])('nothing remains of an aborted acquisition (held: %s)', async (held) => {
  expect(await closing(20, held, 500)).toEqual({ holders: 0, waiters: 0 });
});

it('a request that is executed after the time limit of close leaves its grant', async () => {
  expect(await closing(1200, false, 500)).toEqual({ holders: 1, waiters: 0 });
});
