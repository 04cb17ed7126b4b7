/** A program looks at a lease between its end and the judgement of the watchdog. */
import { sleep, stall } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.js';
import type { Command, Reply } from '../../../src/engine/commands.js';
import { Holdfast } from '../../../src/index.js';
import { WatchedStore } from '../../support/watched-store.js';

const TTL = 200;

/** A store that answers an extension when the test says so, and then does not know the lease. */
class LateStore extends WatchedStore {
  answer: (() => void) | undefined;

  override execute(batch: readonly Command[]): Promise<Reply>[] {
    if (batch[0]?.op !== 'renew') return super.execute(batch);
    return [
      new Promise((resolve) => {
        this.answer = () => resolve({ status: 'absent', now: 0, left: 0 });
      }),
    ];
  }
}

it('a lease that a look finds lost is forgotten', async () => {
  const store = new LateStore(systemClock);
  const holdfast = new Holdfast(store, { ttl: TTL });
  const lease = await holdfast.mutex('key').acquire({ renew: false });
  const extended = lease.extend(2 * TTL).catch(() => undefined);
  // the extension has no answer in time, and the event loop stalls beyond the end
  await sleep(0.6 * TTL);
  stall(TTL);
  // the timer of the end, which waits for answers that have arrived
  await sleep(0);
  store.answer?.();
  for (let turn = 0; turn < 8; turn++) await Promise.resolve();
  expect(lease.signal.aborted).toBe(true);
  await sleep(50);
  expect(holdfast.stats().held).toBe(0);
  await extended;
  await holdfast.close();
});
