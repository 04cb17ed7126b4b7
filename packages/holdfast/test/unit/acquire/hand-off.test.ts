/** A hand-off inside a process that the store receives late. */
import { expect, it } from 'vitest';
import type { Acquire, Command } from '../../../src/engine/commands.js';
import { Holdfast } from '../../../src/index.js';
import { VirtualClock } from '../../support/virtual-clock.js';
import { WatchedStore } from '../../support/watched-store.js';

it('releases a hand-off that arrives after its successor was released', async () => {
  const clock = new VirtualClock();
  const store = new WatchedStore(clock);
  const holdfast = new Holdfast(store, { clock, ttl: 9000, requestTimeout: 1000 });
  const mutex = holdfast.mutex('k');
  const first = await mutex.acquire();
  const second = mutex.acquire();
  await clock.advance(1);
  const again = store.seen('acquire').find(({ id }) => id === first.id) as Acquire;

  // The hand-off is lost and will be sent again.
  store.fate = (command) => (isPass(command) ? 'lost' : 'answered');
  void first.release();
  const successorRecord = await second;
  await store.inner.execute([{ op: 'forceRelease', key: 'k', id: first.id, retention: 60_000 }])[0];
  expect(await successorRecord.release()).toBe('freed');
  // A late duplicate makes the first acquisition a holder again, so the hand-off finds a lease.
  await store.inner.execute([again])[0];
  store.heal();
  await clock.advance(3000);
  expect(store.seen('release').filter(isPass).length).toBeGreaterThan(1);
  expect(await holdfast.inspect('k')).toBeNull();
});

function isPass(command: Command): boolean {
  return command.op === 'release' && command.to !== '';
}
