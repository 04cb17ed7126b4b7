/** Conditions when processes are killed and connections are cut. */
import { type Proxy, type Server, spawnWorker, startProxy, type Worker } from 'holdfast-testkit';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Holdfast, HoldfastOptions, Lease } from '../../src/index.js';
import { scripts } from '../../src/store/redis/generated/scripts.js';
import { Made, openClient, serverOf, stopServersAfterwards } from '../support/backends.js';
import { waitForParked } from '../suites/condition-helpers.js';
import { freshKey, unused } from '../suites/helpers.js';

const made = new Made();
const COMBINATIONS = [
  ['ioredis-6', 'redis'],
  ['node-redis-6', 'valkey'],
] as const;

afterEach(() => made.close());
stopServersAfterwards();

/** Signals once while holding the lock; resolves to the number of woken waiters. */
function signal(holdfast: Holdfast, key: string): Promise<number> {
  const mutex = holdfast.mutex(key);
  return mutex.run((lease) => mutex.condition('c').signal(lease));
}

describe.each(COMBINATIONS)('%s on %s', (client, name) => {
  let server: Server;
  let proxy: Proxy;

  beforeAll(async () => {
    server = await serverOf(name);
  });
  beforeEach(async () => {
    proxy = await startProxy(server);
  });
  afterEach(() => proxy.close());

  const direct = (options: HoldfastOptions = {}): Promise<Holdfast> =>
    made.on(openClient(client, { host: server.host, port: server.port }), options);
  const proxied = (options: HoldfastOptions = {}): Promise<Holdfast> =>
    made.on(openClient(client, { host: proxy.host, port: proxy.port }), options);
  /** Loses the reply to a command, and its connection, `times` times. */
  const dropReply = (op: 'park' | 'signal', times: number): ReturnType<Proxy['dropReply']> =>
    proxy.dropReply((words) => words.includes(scripts[op].sha), { times });

  /** Parks another process first, and then an acquisition of this process. */
  async function two(
    key: string,
  ): Promise<{ one: Holdfast; worker: Worker; second: Promise<boolean> }> {
    const one = await direct();
    const setting = JSON.stringify({ client, port: server.port, protocol: 3, key });
    const worker = spawnWorker(new URL('../children/parks.mjs', import.meta.url), {
      args: [setting],
    });
    await worker.next('parks');
    await waitForParked(one, key, 1);
    const mutex = one.mutex(key);
    const second = mutex.run((lease) => mutex.condition('c').await(lease));
    await waitForParked(one, key, 2);
    return { one, worker, second };
  }

  it('a signal skips a parked process that was killed', async () => {
    const key = freshKey();
    const { one, worker, second } = await two(key);
    await using _worker = worker;
    worker.kill('SIGKILL');
    await worker.exited;
    expect(await signal(one, key)).toBe(1);
    expect(await second).toBe(true);
    await unused(one, key);
  });

  it('a signal is handed over when its process was killed after it was woken', async () => {
    const key = freshKey();
    const { one, worker, second } = await two(key);
    await using _worker = worker;
    expect(await signal(one, key)).toBe(1);
    expect(await worker.next('woken')).toMatchObject({ woken: true });
    worker.kill('SIGKILL');
    expect(await second).toBe(true);
    await unused(one, key);
  });

  it('a lost reply to the release that parks does no harm', async () => {
    const [one, other] = [await proxied(), await direct()];
    const mutex = one.mutex(freshKey());
    const lease = await mutex.acquire();
    const lost = dropReply('park', 2);
    const waiting = mutex.condition('c').await(lease);
    await lost.applied(2);
    await waitForParked(other, mutex.key, 1);
    expect(await signal(other, mutex.key)).toBe(1);
    expect(await waiting).toBe(true);
    expect(await lease.release()).toBe('freed');
    await unused(other, mutex.key);
  });

  it('a lost reply to a signal wakes no second waiter', async () => {
    const [one, other] = [await proxied(), await direct()];
    const key = freshKey();
    const mutex = other.mutex(key);
    const ends: Promise<unknown>[] = [];
    let woken = 0;
    const sleep = async (lease: Lease): Promise<void> => {
      await mutex.condition('c').await(lease);
      woken += 1;
    };
    for (const count of [1, 2, 3]) {
      ends.push(mutex.run(sleep));
      await waitForParked(other, key, count);
    }
    const lost = dropReply('signal', 2);
    expect(await signal(one, key)).toBe(1);
    expect(lost.hits).toBe(2);
    await ends[0];
    // a new acquisition is served after all woken waiters
    await mutex.run(() => undefined);
    expect(woken).toBe(1);
    await mutex.run((lease) => mutex.condition('c').signalAll(lease));
    await Promise.all(ends);
    await unused(other, key);
  });
});
