/** Calls of a closed instance to a store that does not answer: each ends. */
import { expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const CALLS: Readonly<Record<string, (closed: Holdfast) => Promise<unknown>>> = {
  inspect: (closed) => closed.inspect('k'),
  isLocked: (closed) => closed.mutex('k').isLocked(),
  leader: (closed) => closed.election('k').leader(),
  forceRelease: (closed) => closed.forceRelease('k'),
  'ownerLocks.holds': (closed) => closed.ownerLocks.holds('k', 'me'),
  'ownerLocks.unlock': (closed) => closed.ownerLocks.unlock('k', 'me'),
};

it.each(Object.entries(CALLS))('%s rejects', async (_, call) => {
  const clock = new VirtualClock();
  const store = new WatchedStore(clock);
  const holdfast = new Holdfast(store, { clock });
  await holdfast.inspect('k');
  const closing = holdfast.close();
  await clock.advance(30_000);
  await closing;
  store.fate = () => 'lost';
  let code: unknown;
  call(holdfast).catch((error: { code: string }) => (code = error.code));
  await clock.advance(600_000);
  expect(['HOLDFAST_UNREACHABLE', 'HOLDFAST_UNCERTAIN']).toContain(code);
});

it('a scheduled run whose work fails after the close rejects with its error', async () => {
  const clock = new VirtualClock();
  const store = new WatchedStore(clock);
  const holdfast = new Holdfast(store, { clock });
  const work = async (): Promise<void> => {
    await new Promise<void>((resolve) => clock.after(20_000, resolve));
    throw new Error('of the work');
  };
  let failed: unknown;
  const run = holdfast.schedule('k', { atLeast: 0 }).runOnce(work, { slot: 'a' });
  run.catch((error: unknown) => (failed = error));
  await clock.advance(10);
  void holdfast.close({ grace: 1000 });
  await clock.advance(15_000);
  store.fate = () => 'lost';
  await clock.advance(600_000);
  expect(failed).toMatchObject({ message: 'of the work' });
});
