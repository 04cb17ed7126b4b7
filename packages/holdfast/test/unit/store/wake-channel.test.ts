/** Opening and closing the wake channel, and the conversion of store times to the local clock. */
import { describe, expect, it } from 'vitest';
import { SuspendDetector } from '../../../src/lease/local-time.js';
import { MemoryStore } from '../../../src/store/memory/memory-store.js';
import type { EchoAnswer, WakeChannel, WakeListener } from '../../../src/store/port.js';
import type { AcquireSender } from '../../../src/acquire/acquire-sender.js';
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
  const wake = new Wake(store, clock, { name: () => 'w', linger: 10, requestTimeout: 100, events });
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

const SENDER = {} as AcquireSender;

it('a grant before any reply counts from before the first request', () => {
  const sleep = new SuspendDetector(new VirtualClock());
  const waiter = new Acquisition(SENDER, 'a', {} as AcquireRequest, { at: 100, sleeps: 0 });
  expect(waiter.localTime(sleep, 5_000_000, sleep.moment())).toBe(100);
});

it('a later grant counts from the last reply, even if the local clock is slower', () => {
  const sleep = new SuspendDetector(new VirtualClock());
  const waiter = new Acquisition(SENDER, 'a', {} as AcquireRequest, { at: 100, sleeps: 0 });
  waiter.hear({ at: 200, sleeps: 0 }, 5_000_000, 210);
  // A second of the store may be 990 ms of the local clock. The late grant was made by then.
  expect(waiter.localTime(sleep, 6_000_000, sleep.moment())).toBe(200 + 1000 - 10);
  expect(waiter.localTime(sleep, 5_000_000, sleep.moment())).toBe(200);
});

it('a grant after a suspension of the machine has no known time', () => {
  const clock = new VirtualClock();
  const sleep = new SuspendDetector(clock);
  const waiter = new Acquisition(SENDER, 'a', {} as AcquireRequest, sleep.moment());
  waiter.hear(sleep.moment(), 5_000_000, clock.now());
  clock.sleep(2000);
  expect(waiter.localTime(sleep, 5_003_000, sleep.moment())).toBe(Number.NEGATIVE_INFINITY);
});

it('a channel that a request names stays open until the reply', async () => {
  const clock = new VirtualClock();
  const store = new SlowStore(clock);
  const events = { push: () => undefined, up: () => undefined };
  const wake = new Wake(store, clock, { name: () => 'w', linger: 10, requestTimeout: 100, events });
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

/** A store whose messages to itself arrive only while it is told so. */
class EchoingStore extends MemoryStore {
  opened = 0;
  closed = 0;
  arrives = true;
  listener: WakeListener | undefined;

  override async listen(name: string, listener: WakeListener): Promise<WakeChannel> {
    this.opened += 1;
    this.listener = listener;
    const echo = (): EchoAnswer => ({
      published: Promise.resolve(true),
      arrived: this.arrives ? Promise.resolve(true) : new Promise(() => undefined),
    });
    const close = async (): Promise<void> => {
      this.closed += 1;
    };
    return { name, echo, close };
  }
}

describe('a channel that is open and does not work', () => {
  const openWake = async () => {
    const clock = new VirtualClock();
    const store = new EchoingStore(clock);
    const told = { silent: 0, up: 0 };
    const wake = new Wake(store, clock, {
      ...{ name: () => 'w', linger: 10_000, requestTimeout: 100 },
      events: { push: () => undefined, up: () => void (told.up += 1) },
      silent: () => void (told.silent += 1),
    });
    wake.enter();
    await clock.advance(10);
    return { clock, store, told, wake };
  };

  it('is replaced when a push was missed and a message to itself is lost', async () => {
    const { clock, store, told, wake } = await openWake();
    store.arrives = false;
    wake.missed('a');
    await clock.advance(250);
    expect([store.opened, store.closed, told]).toEqual([2, 1, { silent: 1, up: 2 }]);
    expect(wake.channel).toBe('w');
    // the events of the former connection do not count
    store.arrives = true;
    await clock.advance(60_000);
    expect(store.opened).toBe(2);
  });

  it('stays if the message arrives: another process was served first', async () => {
    const { clock, store, told, wake } = await openWake();
    for (let miss = 0; miss < 20; miss++) {
      wake.missed('a');
      await clock.advance(200);
    }
    expect([store.opened, told.silent]).toEqual([1, 0]);
  });

  it.each([
    ['is not examined if the push comes soon after the answer to the poll', 'p.1', 1],
    ['is replaced if the push of another waiter comes', 'p.2', 2],
  ])('%s', async (_, id, opened) => {
    const { clock, store, wake } = await openWake();
    store.arrives = false;
    wake.missed('a', 'p.1');
    await clock.advance(20);
    const grant = { fence: 1, now: 1, left: 1, handOffs: 0, holds: 1, token: 't' };
    store.listener?.push({ kind: 'grant', id, ...grant });
    await clock.advance(1000);
    expect(store.opened).toBe(opened);
  });

  it('is replaced ever more rarely while messages never arrive', async () => {
    const { clock, store, wake } = await openWake();
    store.arrives = false;
    for (let miss = 0; miss < 600; miss++) {
      wake.missed('a');
      await clock.advance(1000);
    }
    expect(store.opened).toBeGreaterThan(5);
    expect(store.opened).toBeLessThan(30);
  });

  it('is replaced when it is down for long, and not when it comes back', async () => {
    const { clock, store, wake } = await openWake();
    store.listener?.down();
    await clock.advance(1500);
    store.listener?.up();
    await clock.advance(5000);
    expect(store.opened).toBe(1);
    store.listener?.down();
    await clock.advance(2100);
    expect([store.opened, store.closed, wake.channel]).toEqual([2, 1, 'w']);
  });
});
