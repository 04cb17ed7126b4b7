/** Opening and closing the wake channel, and the conversion of store times to the local clock. */
import { expect, it } from 'vitest';
import { SuspendDetector } from '../../../src/lease/suspend-detector.js';
import { MemoryStore } from '../../../src/store/memory/memory-store.js';
import type { WakeChannel, WakeListener } from '../../../src/store/port.js';
import { Acquisition } from '../../../src/acquire/acquisition.js';
import type { AcquireRequest } from '../../../src/acquire/call.js';
import { Wake } from '../../../src/store/wake-channel.js';
import { VirtualClock } from '../../support/virtual-clock.js';

/** Opens its channel only on command, and counts the open channels. */
class SlowStore extends MemoryStore {
  open = 0;
  admit: () => void = () => undefined;

  override async listen(name: string, listener: WakeListener): Promise<WakeChannel> {
    await new Promise<void>((resolve) => {
      this.admit = resolve;
    });
    const channel = await super.listen(name, listener);
    this.open += 1;
    const close = async (): Promise<void> => {
      this.open -= 1;
      await channel.close();
    };
    return { name, close };
  }
}

async function opened(leaveFirst: boolean): Promise<number> {
  const clock = new VirtualClock();
  const store = new SlowStore(clock);
  const events = { push: () => undefined, up: () => undefined };
  const wake = new Wake(store, clock, { name: () => 'w', linger: 10, events });
  wake.enter();
  if (leaveFirst) wake.leave();
  await clock.advance(100);
  store.admit();
  await clock.advance(100);
  return store.open;
}

it('a channel that opens after the last waiter has gone is closed', async () => {
  expect(await opened(true)).toBe(0);
});

it('and stays open while there is a waiter', async () => {
  expect(await opened(false)).toBe(1);
});

it('a grant before any reply counts from before the first request', () => {
  const sleep = new SuspendDetector(new VirtualClock());
  const waiter = new Acquisition('a', {} as AcquireRequest, { at: 100, sleeps: 0 });
  expect(waiter.localTime(sleep, 5_000_000)).toBe(100);
});

it('a later grant counts from the last reply, even if the local clock is slower', () => {
  const sleep = new SuspendDetector(new VirtualClock());
  const waiter = new Acquisition('a', {} as AcquireRequest, { at: 100, sleeps: 0 });
  waiter.hear({ at: 200, sleeps: 0 }, 5_000_000, 210);
  // A second of the store may be 990 ms of the local clock. The late grant was made by then.
  expect(waiter.localTime(sleep, 6_000_000)).toBe(200 + 1000 - 10);
  expect(waiter.localTime(sleep, 5_000_000)).toBe(200);
});

it('a grant after a suspension of the machine has no known time', () => {
  const clock = new VirtualClock();
  const sleep = new SuspendDetector(clock);
  const waiter = new Acquisition('a', {} as AcquireRequest, sleep.moment());
  waiter.hear(sleep.moment(), 5_000_000, clock.now());
  clock.sleep(2000);
  expect(waiter.localTime(sleep, 5_003_000)).toBe(Number.NEGATIVE_INFINITY);
});

it('a channel that a request names stays open until the reply', async () => {
  const clock = new VirtualClock();
  const store = new SlowStore(clock);
  const events = { push: () => undefined, up: () => undefined };
  const wake = new Wake(store, clock, { name: () => 'w', linger: 10, events });
  wake.enter();
  await clock.advance(1);
  store.admit();
  await clock.advance(1);
  wake.named(1);
  wake.leave();
  await clock.advance(1000);
  expect(store.open).toBe(1);
  wake.named(-1);
  await clock.advance(1000);
  expect(store.open).toBe(0);
});
