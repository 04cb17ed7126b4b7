/** Requests that wait for their turn: in which order, for how long, and what does not wait. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Command, KeyCommand } from '../../../src/engine/commands.js';
import { Holdfast, type Lease } from '../../../src/index.js';
import { Requests } from '../../../src/store/requests.js';
import { asking } from '../../support/crowds.js';
import { randomOf } from '../../support/seeded-random.js';
import { settle, VirtualClock } from '../../support/virtual-clock.js';
import { WatchedStore } from '../../support/watched-store.js';

const LIMIT = 2000;
const retention = 60_000;

let clock: VirtualClock;
let store: WatchedStore;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
});

const limited = (max: number): Requests => new Requests(store, clock, LIMIT, 0, max);
const ask = (key: string, id = 'a'): KeyCommand => asking(id, { key });
const release = (key: string, id = 'a'): KeyCommand => ({ op: 'release', key, id, retention });
const renew = (key: string): KeyCommand => ({ op: 'renew', key, id: 'a', ttl: 1, retention });
const poll = (key: string): KeyCommand => {
  return { op: 'poll', key, ids: ['a'], patience: 1, retention };
};
const nameOf = (command: Command): string =>
  'key' in command ? `${command.op} ${command.key}` : '';
const sent = (): string[] => store.batches.flat().map(nameOf);
const sizes = (): number[] => store.batches.map(({ length }) => length);

/** Sends commands in one turn, and counts what becomes of them. */
function all(requests: Requests, ...commands: KeyCommand[]): { answered: number; failed: number } {
  const ends = { answered: 0, failed: 0 };
  for (const command of commands) {
    requests.send(command).then(
      () => (ends.answered += 1),
      () => (ends.failed += 1),
    );
  }
  return ends;
}

describe('requests beyond the limit', () => {
  it('wait for their turn in order, and are sent as the others are answered', async () => {
    store.ail('acquire', 10);
    const ends = all(limited(3), ...['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((key) => ask(key)));
    await clock.advance(9);
    expect(sizes()).toEqual([3]);
    await clock.advance(30);
    expect(sent().join()).toBe(
      ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((k) => `acquire ${k}`).join(),
    );
    expect(ends).toEqual({ answered: 7, failed: 0 });
  });

  it('have a deadline that begins when they are sent', async () => {
    store.ail('acquire', LIMIT - 1);
    const ends = all(limited(1), ...['a', 'b', 'c', 'd'].map((key) => ask(key)));
    await clock.advance(4 * (LIMIT - 1));
    expect(ends).toEqual({ answered: 4, failed: 0 });
  });

  it('that are sent to a server which then is silent fail after the time limit', async () => {
    store.fate = ({ key }) => (key === 'b' ? 'lost' : LIMIT - 1);
    const ends = all(limited(1), ask('a'), ask('b'));
    await clock.advance(2 * LIMIT - 2);
    expect(ends).toEqual({ answered: 1, failed: 0 });
    await clock.advance(1);
    expect(ends).toEqual({ answered: 1, failed: 1 });
  });

  it('fail without being sent if the server answers nothing for the time limit', async () => {
    store.ail('acquire', 'lost');
    const requests = limited(1);
    const ends = all(requests, ask('a'), ask('b'), ask('c'));
    await clock.advance(LIMIT - 1);
    const later = all(requests, ask('d'));
    await clock.advance(1);
    expect([ends, later.failed]).toEqual([{ answered: 0, failed: 3 }, 0]);
    expect(sent()).toEqual(['acquire a', 'acquire d']);
    expect(requests.open).toBe(1);
  });

  it('go on after the errors of a client whose connection is closed', async () => {
    store.ail('acquire', 'failed');
    const ends = all(limited(1), ask('a'), ask('b'), ask('c'));
    await clock.advance(0);
    expect(ends).toEqual({ answered: 0, failed: 3 });
  });

  it('are limited by their bytes too', async () => {
    store.ail('acquire', 10);
    const meta = 'x'.repeat(3 * 2 ** 20);
    all(limited(100), ...['a', 'b', 'c', 'd'].map((key) => asking('a', { key, meta })));
    await clock.advance(9);
    expect(sizes()).toEqual([2]);
    await clock.advance(1);
    expect(sent()).toHaveLength(4);
  });
});

describe('the order of those that wait', () => {
  it('is: what ends something, before what asks, but never before its own key', async () => {
    store.fate = () => 10;
    all(limited(1), ask('a'), ask('b'), ask('c'), release('b'), release('d'), ask('d', 'b'));
    await clock.advance(100);
    expect(sent()).toEqual([
      ...['acquire a', 'release d', 'acquire b', 'acquire c', 'release b', 'acquire d'],
    ]);
  });

  it('puts what asks before what ends something and came long after it', async () => {
    store.fate = () => 200;
    const requests = limited(1);
    all(requests, release('z'), ask('a'), release('b'));
    for (let count = 0; count < 5; count++) {
      await clock.advance(200);
      all(requests, release(`c${count}`));
    }
    await clock.advance(2000);
    expect(sent().indexOf('acquire a')).toBe(3);
    expect(sent().slice(0, 3)).toEqual(['release z', 'release b', 'release c0']);
  });

  it('is that of the calls for each key, whatever the answers take', async () => {
    for (let seed = 1; seed <= 10; seed++) {
      const random = randomOf(seed);
      const one = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
      store = new WatchedStore(clock);
      store.fate = () => Math.floor(random() * 5);
      const requests = limited(one([1, 2, 5]));
      const posted: KeyCommand[] = [];
      for (let step = 0; step < 200; step++) {
        const [make, key] = [one([ask, release]), one(['a', 'b', 'c', 'd'])];
        posted.push(make(key, `${step}`));
        all(requests, posted.at(-1) as KeyCommand);
        if (random() < 0.1) await clock.advance(1);
      }
      await clock.advance(2000);
      const executed = store.batches.flat() as KeyCommand[];
      expect(executed).toHaveLength(posted.length);
      for (const key of ['a', 'b', 'c', 'd']) {
        const of = (all: KeyCommand[]): KeyCommand[] => all.filter((one) => one.key === key);
        expect(of(executed)).toEqual(of(posted));
      }
    }
  });
});

describe('no wait', () => {
  it('is there for what keeps a lease or a place, and for one with its own limit', async () => {
    store.ail('acquire', 10);
    const requests = limited(1);
    all(requests, ask('a'), ask('b'));
    await settle();
    all(requests, renew('c'), poll('d'));
    void requests.send(ask('e'), undefined, 100);
    await settle();
    expect(sent()).toEqual(['acquire a', 'renew c', 'poll d', 'acquire e']);
    await clock.advance(20);
    expect(sent().at(-1)).toBe('acquire b');
  });

  it('is caused by the requests to another server', async () => {
    const shardOf = (key: string): string => key.slice(0, 1);
    store = Object.assign(store, { shardOf });
    store.fate = ({ key }) => (key.startsWith('a') ? 'lost' : 'answered');
    const ends = all(limited(1), ask('a1'), ask('a2'), ask('b1'), ask('b2'), ask('b3'));
    await clock.advance(0);
    expect(sent()).toEqual(['acquire a1', 'acquire b1', 'acquire b2', 'acquire b3']);
    expect(ends).toEqual({ answered: 3, failed: 0 });
  });
});

it('a key that moves to another server keeps its order', async () => {
  let server = 'old';
  store = Object.assign(store, { shardOf: () => server });
  store.fate = () => 10;
  const requests = limited(1);
  all(requests, ask('a'), ask('k', '1'));
  server = 'new';
  all(requests, ask('k', '2'), ask('b'));
  await clock.advance(100);
  expect(sent()).toEqual(['acquire a', 'acquire b', 'acquire k', 'acquire k']);
  expect(store.seen('acquire').map(({ id }) => id)).toEqual(['a', 'a', '1', '2']);
});

describe('a lock whose request has to wait', () => {
  const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];
  const holdfast = (options: object = {}): Holdfast => {
    return new Holdfast(store, { clock, maxRequests: 1, requestTimeout: LIMIT, ...options });
  };
  const acquireAll = (h: Holdfast): Promise<Lease[]> =>
    clock.until(Promise.all(KEYS.map((key) => h.mutex(key).acquire())));

  it('is held for its ttl from when the request was sent', async () => {
    store.ail('acquire', 600);
    // five answers take 3 s
    const leases = await acquireAll(holdfast({ ttl: 2000 }));
    const last = leases.at(-1) as Lease;
    expect(last.remaining).toBeGreaterThan(1300);
    expect(leases.every(({ held }) => held)).toBe(true);
  });

  it('is released, also if its lease ends by itself while the release waits', async () => {
    const leases = await acquireAll(holdfast({ ttl: 2000 }));
    store.ail('release', 600);
    const released = await clock.until(Promise.all(leases.map((lease) => lease.release())));
    expect(new Set(released)).toEqual(new Set(['freed']));
  });

  it('is reported as lost if it had ended before its release waited', async () => {
    const [a, ...others] = (await acquireAll(holdfast({ ttl: 60_000 }))) as [Lease, ...Lease[]];
    store.ail('release', 600);
    const released = others.map((lease) => lease.release());
    await Promise.all(store.inner.execute([{ op: 'forceRelease', key: 'a', id: '', retention }]));
    const last = await clock.until(a.release());
    expect([last, new Set(await Promise.all(released))]).toEqual(['lost', new Set(['freed'])]);
  });

  it('is given up at the end of the wait of its caller, and its request is not sent', async () => {
    store.ail('acquire', 1000);
    const h = holdfast();
    const first = h.mutex('a').acquire();
    const wait = h.mutex('b').acquire({ wait: 500 });
    const aborted = new AbortController();
    const signal = h.mutex('c').acquire({ signal: aborted.signal });
    const ends = Promise.allSettled([wait, signal]);
    await clock.advance(400);
    aborted.abort();
    await clock.advance(100);
    expect(await ends).toMatchObject([
      { reason: { code: 'HOLDFAST_UNREACHABLE', message: expect.stringContaining('maxRequests') } },
      { reason: { code: 'HOLDFAST_ABORTED' } },
    ]);
    await clock.advance(1000);
    expect((await first).held).toBe(true);
    expect(store.seen('acquire').map(({ key }) => key)).toEqual(['a']);
    // nothing was sent, so nothing is withdrawn, and none is asked why
    await clock.advance(60_000);
    expect([store.seen('release'), store.seen('inspect')]).toEqual([[], []]);
  });

  it('is not called taken if the server is silent and the request was not sent', async () => {
    store.ail('acquire', 'lost');
    const h = holdfast();
    h.mutex('a')
      .acquire({ wait: 500 })
      .catch(() => undefined);
    const tried = h.mutex('b').tryAcquire({ wait: 500 });
    await expect(clock.until(tried)).rejects.toMatchObject({ code: 'HOLDFAST_UNREACHABLE' });
  });

  it('does not delay the health check, nor does that call the store slow', async () => {
    store.fate = () => 1;
    const h = holdfast();
    for (let count = 0; count < 3000; count++) void h.mutex(`${count}`).acquire();
    const health = h.health();
    await clock.advance(3);
    const { roundTrip, problems } = await health;
    expect(roundTrip).toBe(1);
    expect(problems).toEqual([]);
  });

  it('breaks no barrier: its parties are kept alive meanwhile', async () => {
    store.fate = () => 1;
    const h = holdfast();
    const terms = { parties: 2, ttl: 1000 };
    const passed = h.barrier('b', terms).await({ wait: 60_000 });
    await clock.advance(50);
    for (let count = 0; count < 3000; count++) void h.latch(`${count}`, { count: 5 }).countDown();
    await clock.advance(2500);
    const other = new Holdfast(store.inner, { clock });
    await clock.until(other.barrier('b', terms).await());
    await clock.until(passed);
  });

  it('is not refused by tryAcquire before its request was answered', async () => {
    store.ail('acquire', 1500);
    const h = holdfast();
    const tried = Promise.all(KEYS.map((key) => h.mutex(key).tryAcquire()));
    expect((await clock.until(tried)).every((lease) => lease?.held)).toBe(true);
  });

  it('is unreachable after `unreachableAfter` if the server is silent', async () => {
    store.ail('acquire', 'lost');
    const h = holdfast({ unreachableAfter: 10_000 });
    const ends: string[] = [];
    for (const key of KEYS) {
      h.mutex(key)
        .acquire()
        .catch(({ code }: { code: string }) => ends.push(code));
    }
    await clock.advance(10_000 + 2 * LIMIT + 1000);
    expect(ends).toEqual(KEYS.map(() => 'HOLDFAST_UNREACHABLE'));
  });

  it('does not lose time of its lease to a long turn of the event loop', async () => {
    const taken = holdfast({ ttl: 2000 }).mutex('a').acquire();
    clock.stall(1900);
    expect((await taken).remaining).toBeGreaterThan(1900);
  });
});
