/**
 * The library's own deadlines: each client, with any settings, on a server that does not answer.
 */
import { paced, type Proxy, type Server, sleep, startProxy, until } from 'holdfast-testkit';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.js';
import type { Command } from '../../src/engine/commands.js';
import { Holdfast, type HoldfastOptions } from '../../src/index.js';
import type { Outcome } from '../../src/store/port.js';
import { RedisStore } from '../../src/store/redis/redis-store.js';
import {
  CLIENTS,
  type ClientName,
  Made,
  openClient,
  serverOf,
  stopServersAfterwards,
} from '../support/backends.js';
import { aborted, failure, freshKey, later, queued, turn, unused } from '../suites/helpers.js';

/** Leases that do not expire within a test, and a short request timeout. */
const LIMIT = paced(150);
const SHORT = { ttl: 60_000, requestTimeout: LIMIT };

/** Clients that would themselves wait without limit. */
const ENDLESS: Readonly<Record<ClientName, object>> = {
  'ioredis-5': { maxRetriesPerRequest: null },
  'ioredis-6': { maxRetriesPerRequest: null },
  'node-redis-5': {},
  'node-redis-6': { commandOptions: { timeout: 600_000 } },
};

/** A broken variant: abandoned acquisitions are not withdrawn. */
class Forgetful extends RedisStore {
  override execute(batch: readonly Command[]): ReturnType<RedisStore['execute']> {
    const answers = super.execute(batch.filter(({ op }) => op !== 'release'));
    return batch.map(({ op }) =>
      op === 'release' ? new Promise(() => undefined) : (answers.shift() as (typeof answers)[0]),
    );
  }

  override post(command: Command, to: Outcome): boolean {
    return command.op === 'release' || super.post(command, to);
  }
}

/** A broken variant: the clock runs at a third of its speed. */
const SLOW: Clock = {
  now: () => performance.now() / 3,
  wall: () => Date.now() / 3,
  after(ms, callback) {
    const timer = setTimeout(callback, ms * 3);
    return { cancel: () => clearTimeout(timer) };
  },
};

describe.each(CLIENTS)('%s', (client) => {
  const made = new Made();
  let server: Server;
  let proxy: Proxy;

  const direct = (options: HoldfastOptions = {}): Promise<Holdfast> =>
    made.on(openClient(client, { host: server.host, port: server.port }), options);
  const proxied = (options: HoldfastOptions = SHORT): Promise<Holdfast> => {
    const where = { host: proxy.host, port: proxy.port, extra: ENDLESS[client] };
    return made.on(openClient(client, where), options);
  };

  beforeAll(async () => {
    server = await serverOf('redis');
  });
  beforeEach(async () => {
    proxy = await startProxy(server);
  });
  afterEach(async () => {
    server.resume();
    proxy.heal();
    await made.close();
    await proxy.close();
  });

  it('an attempt fails within its limit, and a grant that arrives late is withdrawn', async () => {
    const [one, other] = [await proxied(), await direct()];
    const key = freshKey();
    server.pause();
    const start = performance.now();
    const error = await failure(one.mutex(key).tryAcquire(), 'HOLDFAST_UNREACHABLE');
    const elapsed = performance.now() - start;
    expect(elapsed).toBeGreaterThan(LIMIT - 5);
    // many times the limit: a client's own timeout would take minutes
    expect(elapsed).toBeLessThan(30 * LIMIT);
    expect(error.key).toBe(key);
    expect((error.cause as Error).message).toContain(`${LIMIT} ms`);
    server.resume();
    await until(async () => (await server.command('EXISTS', `holdfast:{${key}}`)) === 1);
    await unused(other, key);
    expect((await other.mutex(key).tryAcquire())?.held).toBe(true);
  });

  it('control: without the withdrawal the lock stays held', async () => {
    const opened = await openClient(client, { host: proxy.host, port: proxy.port });
    const broken = made.add(new Holdfast(new Forgetful(opened.port, 'holdfast:'), SHORT));
    const other = await direct();
    const key = freshKey();
    server.pause();
    await failure(broken.mutex(key).tryAcquire(), 'HOLDFAST_UNREACHABLE');
    server.resume();
    await until(async () => (await other.inspect(key)) !== null);
    // a later request on the same connection was answered, so no withdrawal was sent before it
    await until(async () => (await broken.inspect(key)) !== null);
    expect(await other.mutex(key).tryAcquire()).toBeNull();
    await made.close();
    await opened.close();
  });

  it('an acquisition with a wait limit retries until the server is back', async () => {
    const one = await proxied({ ...SHORT, unreachableAfter: 30_000 });
    const key = freshKey();
    await one.inspect(key);
    const before = proxy.count('evalsha');
    proxy.blackhole();
    const acquiring = one.mutex(key).acquire({ wait: 30_000 });
    await until(() => proxy.count('evalsha') >= before + 2, { within: 20_000 });
    proxy.heal();
    const lease = await acquiring;
    expect(lease.held).toBe(true);
    expect(await lease.release()).toBe('freed');
  });

  it('an acquisition with a wait limit times out when the server does not answer', async () => {
    const one = await proxied({ ...SHORT, unreachableAfter: paced(400) });
    const other = await direct();
    const [free, held] = [freshKey(), freshKey()];
    await using _lease = await other.mutex(held).acquire();
    const queuing = later(one.mutex(held).acquire());
    await queued(other, held, 1);
    proxy.blackhole();
    // one acquisition was never answered, the other had a place in the queue
    await failure(one.mutex(free).acquire(), 'HOLDFAST_UNREACHABLE');
    await failure(queuing, 'HOLDFAST_UNREACHABLE');
    proxy.heal();
    await unused(other, free);
    await queued(other, held, 0);
  });

  it('a release has an unknown outcome, and takes effect when the server is back', async () => {
    const [one, other] = [await proxied(), await direct()];
    const key = freshKey();
    const lease = await one.mutex(key).acquire();
    proxy.blackhole();
    const error = await failure(lease.release(), 'HOLDFAST_UNCERTAIN');
    expect(error.key).toBe(key);
    expect(lease.held).toBe(false);
    expect((await other.inspect(key))?.holders[0]?.id).toBe(lease.id);
    proxy.heal();
    await unused(other, key);
  });

  it('an extension has an unknown outcome, and the lease keeps its deadline', async () => {
    const one = await proxied();
    const lease = await one.mutex(freshKey()).acquire({ ttl: 20_000 });
    proxy.blackhole();
    await failure(lease.extend(60_000), 'HOLDFAST_UNCERTAIN');
    expect(lease.held).toBe(true);
    expect(lease.remaining).toBeLessThan(20_000);
    proxy.heal();
    await until(async () => (await lease.extend(60_000)) > 59_000);
  });

  it('a forced release has an unknown outcome, and an inspection fails', async () => {
    const one = await proxied();
    const key = freshKey();
    await one.inspect(key);
    proxy.blackhole();
    await failure(one.forceRelease(key), 'HOLDFAST_UNCERTAIN');
    await failure(one.inspect(key), 'HOLDFAST_UNREACHABLE');
  });

  it('a lease survives an outage that is shorter than its ttl', async () => {
    const one = await proxied({ ttl: 16 * LIMIT, requestTimeout: LIMIT });
    const lease = await one.mutex(freshKey()).acquire();
    const before = proxy.count('evalsha');
    proxy.blackhole();
    await until(() => proxy.count('evalsha') >= before + 2);
    const left = lease.remaining;
    proxy.heal();
    await until(() => lease.remaining > left);
    expect(lease.held).toBe(true);
    expect(lease.signal.aborted).toBe(false);
  });

  it('a holder that is cut off loses its lease before the next one gets it', async () => {
    const [one, other] = [await proxied({ ttl: 400 }), await direct()];
    const key = freshKey();
    const lease = await one.mutex(key).acquire();
    const signal = aborted(lease.signal);
    const waiting = other.mutex(key).acquire();
    await queued(other, key, 1);
    proxy.blackhole();
    const heldStill = waiting.then(async () => {
      const { held } = lease;
      // a process that was late reads the answers that have arrived before it says so
      await sleep(1);
      for (let turns = 0; turns < 4; turns++) await turn();
      return [held, lease.signal.aborted];
    });
    expect((await signal).code).toBe('HOLDFAST_LOST');
    expect(await heldStill).toEqual([false, true]);
  });

  it('control: with a slow clock two holders overlap', async () => {
    const [one, other] = [await proxied({ ttl: paced(400), clock: SLOW }), await direct()];
    const key = freshKey();
    const lease = await one.mutex(key).acquire();
    const waiting = other.mutex(key).acquire();
    await queued(other, key, 1);
    proxy.blackhole();
    const heldStill = waiting.then(() => lease.held);
    expect(await heldStill).toBe(true);
  });
});

stopServersAfterwards();
