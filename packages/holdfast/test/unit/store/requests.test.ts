/** Requests: collected for one turn of the event loop, each with a deadline of our own. */
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

describe('what one turn collects', () => {
  it('goes out together, in order, and each gets its own answer', async () => {
    const sent = [requests.send(asking('a', { key: 'k' })), requests.send(renew('k'))];
    expect(store.batches).toEqual([]);
    expect(await Promise.all(sent)).toMatchObject([{ status: 'granted' }, { status: 'renewed' }]);
    expect(store.batches).toHaveLength(1);
  });

  it('is split where it is too much for one batch', async () => {
    await Promise.all(Array.from({ length: 1200 }, (_, n) => requests.send(renew(`k${n}`))));
    expect(store.batches.map(({ length }) => length)).toEqual([500, 500, 200]);
    expect(requests.sent).toBe(1200);
  });

  it('goes out apart from what the next turn collects', async () => {
    void requests.send(renew('a'));
    await settle();
    void requests.send(renew('b'));
    await settle();
    expect(store.batches).toHaveLength(2);
  });
});

describe('a deadline', () => {
  it('passes whatever the client does', async () => {
    store.ail('renew', 'lost');
    const sent = requests.send(renew('k'));
    const failed = expect(sent).rejects.toMatchObject({ name: 'StoreFailure', answered: false });
    await clock.advance(2000);
    await failed;
  });

  it('can be shorter for one request, never longer', async () => {
    store.ail('renew', 'lost');
    const ends: string[] = [];
    requests.send(renew('k'), undefined, 10).catch(() => ends.push('short'));
    requests.send(renew('k'), undefined, 1e9).catch(() => ends.push('long'));
    await clock.advance(10);
    expect(ends).toEqual(['short']);
    await clock.advance(1990);
    expect(ends).toEqual(['short', 'long']);
  });

  it('has one timer for all, which keeps no process alive and is gone after close', async () => {
    for (let n = 0; n < 5; n++) await requests.send(renew('k'));
    store.ail('renew', 'failed');
    await expect(requests.send(renew('k'))).rejects.toThrow('OOM');
    expect([clock.timers(), clock.timers('strong')]).toEqual([1, 0]);
    requests.close();
    expect(clock.timers()).toBe(0);
  });

  it('still ends what is under way at close, and leaves no timer then', async () => {
    store.ail('renew', 'lost');
    const failed = expect(requests.send(renew('k'))).rejects.toMatchObject({ answered: false });
    requests.close();
    await clock.advance(2000);
    await failed;
    expect(clock.timers()).toBe(0);
  });

  it('of each request is its own, however many are under way', async () => {
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

  it('that has passed sends a late answer to whoever wants it, and to nobody else', async () => {
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
  it.each(['failed', 'refused'] as const)("is the store's own: %s", async (fate) => {
    store.ail('renew', fate);
    const answered = fate === 'refused';
    await expect(requests.send(renew('k'))).rejects.toMatchObject({ answered });
  });

  it('of another kind becomes one, with its cause', async () => {
    const cause = new TypeError('surprise');
    store.execute = (batch) => batch.map(() => Promise.reject(cause));
    const failure = { name: 'StoreFailure', answered: false, message: 'surprise', cause };
    await expect(requests.send(renew('k'))).rejects.toMatchObject(failure);
  });

  it("of one request is none of the others'", async () => {
    store.fate = ({ key }) => (key === 'bad' ? 'failed' : 'answered');
    const sent = [requests.send(renew('bad')), requests.send(renew('good'))];
    const [bad, good] = await Promise.allSettled(sent);
    expect([bad?.status, good?.status]).toEqual(['rejected', 'fulfilled']);
  });
});
