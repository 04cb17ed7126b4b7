/** Copies of a request that the store receives long after the last attempt to release them. */
import { expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';
import { MemoryStore } from '../../src/store/memory/memory-store.js';
import { failure } from '../suites/helpers.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

/** Longer than the last attempt to release a late duplicate. */
const LATER_MS = 60_000;

/** Whether the lock is taken a second after the second copy of an abandoned acquisition. */
async function takenByCopies({ answered }: { answered: boolean }): Promise<boolean> {
  const clock = new VirtualClock();
  const inner = new MemoryStore(clock);
  const watched = new WatchedStore(clock, inner);
  const [abandons, other] = [watched, inner].map((store) => new Holdfast(store, { clock }));
  await clock.until((abandons as Holdfast).warmUp());
  const holds = await clock.until((other as Holdfast).mutex('k').acquire());
  if (!answered) watched.ail('acquire', 'lost');
  const asked = (abandons as Holdfast).mutex('k').acquire({ wait: 3000 });
  await clock.until(failure(asked, answered ? 'HOLDFAST_TIMEOUT' : 'HOLDFAST_UNREACHABLE'));
  watched.heal();
  await clock.advance(LATER_MS);
  const [copy] = watched.seen('acquire').filter(({ key }) => key === 'k');
  const come = (): Promise<unknown> => Promise.all(inner.execute([copy as never]));
  await come();
  // the first copy gets the lock by a push, and the second one without
  await clock.until(holds.release());
  await clock.advance(50);
  await come();
  await clock.advance(1000);
  const taken = await clock.until((other as Holdfast).mutex('k').isLocked());
  await Promise.all([abandons, other].map(async (one) => clock.until((one as Holdfast).close())));
  return taken;
}

it('a push to a copy shows that others may follow: they are released too', async () => {
  expect(await takenByCopies({ answered: false })).toBe(false);
});

it('control: an acquisition without copies is released once', async () => {
  expect(await takenByCopies({ answered: true })).toBe(true);
});
