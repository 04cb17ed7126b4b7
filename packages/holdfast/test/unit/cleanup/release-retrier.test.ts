/** Releases are retried until the store answers or the lease has ended. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Requests } from '../../../src/store/requests.js';
import {
  Attempts,
  type ReleaseResult,
  ReleaseRetrier,
} from '../../../src/acquire/cleanup/release-retrier.js';
import { asking } from '../../support/crowds.js';
import { VirtualClock } from '../../support/virtual-clock.js';
import { WatchedStore } from '../../support/watched-store.js';

let clock: VirtualClock;
let store: WatchedStore;
let returns: ReleaseRetrier;

beforeEach(async () => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  returns = new ReleaseRetrier(new Requests(store, clock, 100), clock);
  await Promise.all(store.inner.execute([asking('a', { key: 'k', ttl: 60_000 })]));
});

interface Heard {
  soon: ReleaseResult | undefined | 'nothing';
  atLast: ReleaseResult | undefined | 'nothing';
}

class End extends Attempts {
  readonly heard: Heard = { soon: 'nothing', atLast: 'nothing' };

  resolve(returned: ReleaseResult | undefined, isOver: boolean): void {
    if (isOver) this.heard.atLast = returned;
    if (this.heard.soon === 'nothing') this.heard.soon = returned;
  }
}

function release(lasts: number): Heard {
  const end = new End(returns, 'a', clock.now() + lasts);
  end.command = { op: 'release', key: 'k', id: 'a', retention: 1000 };
  returns.end(end, clock.now());
  return end.heard;
}

describe('a release', () => {
  it("returns the store's reply", async () => {
    const heard = release(10_000);
    await clock.advance(0);
    const freed = { status: 'freed', repeated: false, holds: 0 };
    expect(heard).toMatchObject({ soon: freed, atLast: freed });
    expect(clock.timers('strong')).toBe(0);
  });

  it('goes on after a refusal of the server, of which the caller is told at once', async () => {
    store.ail('release', 'refused');
    const heard = release(60_000);
    await clock.advance(10);
    expect(heard).toEqual({ soon: undefined, atLast: 'nothing' });
    store.heal();
    await clock.advance(1000);
    expect(heard.atLast).toMatchObject({ status: 'freed', repeated: true });
  });

  it('is retried after growing pauses of at most one second', async () => {
    store.ail('release', 'lost');
    release(60_000);
    await clock.advance(0);
    const times: number[] = [clock.now()];
    for (let seen = 1; times.length < 9; ) {
      await clock.advance(1);
      if (store.batches.length > seen) times.push(clock.now());
      seen = store.batches.length;
    }
    const pauses = times.slice(1).map((time, index) => time - (times[index] as number) - 100);
    expect(pauses).toEqual([20, 40, 80, 160, 320, 640, 1000, 1000]);
  });

  it('reports success if an earlier attempt may have released the lease', async () => {
    store.ail('release', 'answer lost');
    const heard = release(10_000);
    await clock.advance(110);
    store.heal();
    await clock.advance(10);
    const absent = { status: 'absent', repeated: true, holds: 0 };
    expect(heard).toMatchObject({ soon: absent, atLast: absent });
  });

  it('makes a caller wait for two attempts, and continues in the background', async () => {
    store.ail('release', 'lost');
    const heard = release(10_000);
    await clock.advance(100 + 20 + 100);
    expect(heard).toEqual({ soon: undefined, atLast: 'nothing' });
    store.heal();
    await clock.advance(1000);
    expect(heard).toMatchObject({
      soon: undefined,
      atLast: { status: 'freed', repeated: true, holds: 0 },
    });
  });

  it('keeps the process alive while a caller waits, and then no longer', async () => {
    store.ail('release', 'failed');
    release(60_000);
    await clock.advance(10);
    expect(clock.timers('strong')).toBe(1);
    await clock.advance(20);
    expect(clock.timers('strong')).toBe(0);
  });

  it('is tried again at once for a further caller, for whom the pause would end', async () => {
    store.ail('release', 'failed');
    release(60_000);
    await clock.advance(60_000 - 1500);
    const tries = store.batches.length;
    const command = { op: 'release', key: 'k', id: 'a', retention: 1000 } as const;
    const further = returns.release({ id: 'a', command, until: clock.now() + 60_000 });
    await clock.advance(0);
    expect(store.batches.length).toBe(tries + 1);
    expect(await further).toBeUndefined();
  });

  it('stops when the lease has ended', async () => {
    store.ail('release', 'lost');
    const heard = release(500);
    await clock.advance(600);
    expect(heard).toEqual({ soon: undefined, atLast: undefined });
    const tries = store.batches.length;
    await clock.advance(60_000);
    expect([store.batches.length, clock.timers()]).toEqual([tries, 0]);
  });

  it('stops when the retrier is closed', async () => {
    store.ail('release', 'lost');
    const heard = release(60_000);
    returns.stop();
    await clock.advance(100);
    expect(heard.atLast).toBeUndefined();
    expect(clock.timers()).toBe(0);
  });
});

it('`settled` resolves when all releases are done', async () => {
  await returns.settled();
  store.ail('release', 'lost');
  release(5000);
  let settled = false;
  void returns.settled().then(() => {
    settled = true;
  });
  await clock.advance(1000);
  expect(settled).toBe(false);
  store.heal();
  await clock.advance(1000);
  expect(settled).toBe(true);
});
