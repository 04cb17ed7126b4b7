/** Requests are collected for one turn of the event loop. Each has a deadline in this process. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Renew } from '../../../src/engine/commands.js';
import { Requests } from '../../../src/store/requests.js';
import { asking } from '../../support/crowds.js';
import { settle, VirtualClock } from '../../support/virtual-clock.js';
import { WatchedStore } from '../../support/watched-store.js';

let clock: VirtualClock;
let store: WatchedStore;
let requests: Requests;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  requests = new Requests(store, clock, 2000);
});

const renew = (key: string): Renew => ({ op: 'renew', key, id: 'a', ttl: 1, retention: 1000 });

describe('the requests of one turn', () => {
  it('are sent together, in order, and each gets its own reply', async () => {
    const sent = [requests.send(asking('a', { key: 'k' })), requests.send(renew('k'))];
    expect(store.batches).toEqual([]);
    expect(await Promise.all(sent)).toMatchObject([{ status: 'granted' }, { status: 'renewed' }]);
    expect(store.batches).toHaveLength(1);
  });

  it('are split if they exceed one batch', async () => {
    await Promise.all(Array.from({ length: 1200 }, (_, n) => requests.send(renew(`k${n}`))));
    expect(store.batches.map(({ length }) => length)).toEqual([500, 500, 200]);
    expect(requests.sent).toBe(1200);
  });

  it('are sent apart from those of the next turn', async () => {
    void requests.send(renew('a'));
    await settle();
    void requests.send(renew('b'));
    await settle();
    expect(store.batches).toHaveLength(2);
  });
});

describe('in a crowd of open requests', () => {
  const CROWD = 17;
  const some = async (requests: Requests): Promise<number> => {
    for (let n = 0; n < CROWD; n++) void requests.send(renew(`open ${n}`)).catch(() => undefined);
    await settle();
    const before = store.batches.length;
    for (const key of ['a', 'b', 'c']) {
      void requests.send(renew(key)).catch(() => undefined);
      // later promise jobs of the same turn of the event loop
      await Promise.resolve();
      await Promise.resolve();
    }
    return before;
  };

  beforeEach(() => store.ail('renew', 'lost'));

  it('those of one turn of the event loop are sent together, if the store joins them', async () => {
    const joined = new Requests(Object.assign(store, { joins: true }), clock, 2000);
    const before = await some(joined);
    expect(store.batches).toHaveLength(before);
    await settle();
    expect(store.batches.slice(before).map(({ length }) => length)).toEqual([3]);
  });

  it('they do not wait for the end of the turn before code that may block', async () => {
    const joined = new Requests(Object.assign(store, { joins: true }), clock, 2000);
    const before = await some(joined);
    expect(joined.written()).toBeUndefined();
    await Promise.resolve();
    expect(store.batches.slice(before).map(({ length }) => length)).toEqual([3]);
  });

  it('those of other stores are sent at once', async () => {
    const before = await some(requests);
    expect(store.batches.slice(before).map(({ length }) => length)).toEqual([1, 1, 1]);
  });

  it('requests whose deadlines have passed are not open', async () => {
    const joined = new Requests(Object.assign(store, { joins: true }), clock, 2000);
    await some(joined);
    await clock.advance(2000);
    expect(joined.open).toBe(0);
  });
});

it('tells the store of failures that another node may end', async () => {
  const told = vi.fn();
  const failing = new Requests(Object.assign(store, { unanswered: told }), clock, 2000);
  await failing.send(renew('k'));
  expect(told).not.toHaveBeenCalled();
  store.fate = () => 'refused';
  await expect(failing.send(renew('k'))).rejects.toThrow();
  expect(told).not.toHaveBeenCalled();
  // a node of a cluster that is cut off: it replies CLUSTERDOWN, or its connection is closed
  store.fate = () => 'failed';
  await expect(failing.send(renew('k'))).rejects.toThrow();
  expect(told).toHaveBeenCalledTimes(1);
});

describe('`written`', () => {
  const writing = vi.fn(() => Promise.resolve());
  const slow = (): Requests => {
    writing.mockClear();
    const store = new WatchedStore(clock);
    return new Requests(Object.assign(store, { writesLater: true, written: writing }), clock, 2000);
  };

  it('asks a store that writes later once for all requests of a turn', async () => {
    const requests = slow();
    const waits = Array.from({ length: 1000 }, (_, n) => {
      void requests.send(renew(`k${n}`));
      return requests.written();
    });
    for (const wait of waits) await wait;
    expect(writing).toHaveBeenCalledTimes(1);
  });

  it('asks it again for the requests of a later turn', async () => {
    const requests = slow();
    for (const key of ['a', 'b']) {
      void requests.send(renew(key));
      await requests.written();
    }
    expect(writing).toHaveBeenCalledTimes(2);
  });

  it('does not wait for a store that writes at once', () => {
    void requests.send(renew('k'));
    expect(requests.written()).toBeUndefined();
  });
});

describe('a deadline', () => {
  it('passes even if the client never settles', async () => {
    store.ail('renew', 'lost');
    const sent = requests.send(renew('k'));
    const failed = expect(sent).rejects.toMatchObject({ name: 'StoreFailure', answered: false });
    await clock.advance(2000);
    await failed;
  });

  it('can be shorter for one request, but not longer', async () => {
    store.ail('renew', 'lost');
    const ends: string[] = [];
    requests.send(renew('k'), undefined, 10).catch(() => ends.push('short'));
    requests.send(renew('k'), undefined, 1e9).catch(() => ends.push('long'));
    await clock.advance(10);
    expect(ends).toEqual(['short']);
    await clock.advance(1990);
    expect(ends).toEqual(['short', 'long']);
  });

  it('uses one timer for all, which keeps no process alive and ends with close', async () => {
    for (let n = 0; n < 5; n++) await requests.send(renew('k'));
    store.ail('renew', 'failed');
    await expect(requests.send(renew('k'))).rejects.toThrow('OOM');
    expect([clock.timers(), clock.timers('strong')]).toEqual([1, 0]);
    requests.close();
    expect(clock.timers()).toBe(0);
  });

  it('still ends pending requests at close, and leaves no timer', async () => {
    store.ail('renew', 'lost');
    const failed = expect(requests.send(renew('k'))).rejects.toMatchObject({ answered: false });
    requests.close();
    await clock.advance(2000);
    await failed;
    expect(clock.timers()).toBe(0);
  });

  it('of each request is separate, with any number of pending requests', async () => {
    store.ail('renew', 'lost');
    const ends: number[] = [];
    for (let n = 0; n < 3000; n++) {
      requests.send(renew('k')).catch(() => ends.push(n));
      if (n % 1000 === 999) await clock.advance(500);
    }
    await clock.advance(499);
    expect(ends).toHaveLength(0);
    await clock.advance(1);
    expect(ends).toHaveLength(1000);
    await clock.advance(1000);
    expect(ends).toEqual(Array.from({ length: 3000 }, (_, n) => n));
  });

  it('that has passed delivers a late reply only to a request that asked for it', async () => {
    store.ail('renew', 3000);
    const late = vi.fn();
    const results: string[] = [];
    requests.send(renew('k'), late).then(
      () => results.push('answered'),
      () => results.push('failed'),
    );
    await clock.advance(2999);
    expect([results, late.mock.calls]).toEqual([['failed'], []]);
    await clock.advance(1);
    expect(late.mock.calls).toMatchObject([[{ status: 'absent' }]]);
    expect(results).toEqual(['failed']);
  });
});

describe('a failure', () => {
  it.each(['failed', 'refused'] as const)("is reported as the store's error: %s", async (fate) => {
    store.ail('renew', fate);
    const answered = fate === 'refused';
    await expect(requests.send(renew('k'))).rejects.toMatchObject({ answered });
  });

  it('of another kind is wrapped, with its cause', async () => {
    const cause = new TypeError('surprise');
    store.execute = (batch) => batch.map(() => Promise.reject(cause));
    const failure = { name: 'StoreFailure', answered: false, message: 'surprise', cause };
    await expect(requests.send(renew('k'))).rejects.toMatchObject(failure);
  });

  it('of one request does not affect the others', async () => {
    store.fate = ({ key }) => (key === 'bad' ? 'failed' : 'answered');
    const sent = [requests.send(renew('bad')), requests.send(renew('good'))];
    const [bad, good] = await Promise.allSettled(sent);
    expect([bad?.status, good?.status]).toEqual(['rejected', 'fulfilled']);
  });
});
