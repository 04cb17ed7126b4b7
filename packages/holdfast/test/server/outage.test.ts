/** No client reports an outage as "another holder has the lock". */
import { createServer } from 'node:net';
import { paced, type Proxy, type Server, sleep, startProxy, until } from 'holdfast-testkit';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Holdfast, isHoldfastError } from '../../src/index.js';
import { CLIENTS, Made, openClient, serverOf, stopServersAfterwards } from '../support/backends.js';
import { failure, freshKey, later, queued, unused } from '../suites/helpers.js';

const LIMIT = paced(150);
const SHORT = { ttl: 60_000, requestTimeout: LIMIT, claimWindow: 100, retention: 60_000 };

/** A port without a listener. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Every way to wait for a lock, with a limit of 200 ms. */
function calls(holdfast: Holdfast): [string, () => Promise<unknown>][] {
  const key = freshKey();
  const mutex = holdfast.mutex(key);
  const wait = 200;
  const schedule = holdfast.schedule(key, { atLeast: 0 });
  const barrier = holdfast.barrier(key, { parties: 2 });
  const work = { fresh: () => undefined, compute: () => 1 };
  return [
    ['acquire', () => mutex.acquire({ wait })],
    ['tryAcquire', () => mutex.tryAcquire({ wait })],
    ['run', () => mutex.run(() => 1, { wait })],
    ['allOf', () => holdfast.allOf([key, freshKey()]).tryAcquire({ wait })],
    ['runOnce', () => schedule.runOnce(() => 1, { wait })],
    ['runOnce of a slot', () => schedule.runOnce(() => 1, { wait, slot: 'now' })],
    ['campaign', () => holdfast.election(key).campaign({ wait })],
    ['tryLock', () => holdfast.ownerLocks.tryLock(key, 'me', 5000, { wait })],
    ['single flight', () => holdfast.singleFlight(freshKey()).run(work, { wait })],
    ['latch', () => holdfast.latch(key, { count: 1 }).await({ wait })],
    ['barrier', () => barrier.await({ wait })],
  ];
}

/** Every way to look. */
function looks(holdfast: Holdfast): [string, () => Promise<unknown>][] {
  return [
    ['inspect', () => holdfast.inspect('k')],
    ['list', () => holdfast.list().next()],
    ['ready', () => holdfast.ready()],
    ['isLocked', () => holdfast.mutex('k').isLocked()],
  ];
}

/** The calls that do not end with HOLDFAST_UNREACHABLE and a cause. */
async function others(holdfast: Holdfast, ways = calls(holdfast)): Promise<string[]> {
  const ends = ways.map(async ([name, call]) => {
    try {
      return `${name} resolved to ${JSON.stringify(await call())}`;
    } catch (error) {
      const good = isHoldfastError(error, 'HOLDFAST_UNREACHABLE') && error.cause instanceof Error;
      return good ? '' : `${name} rejected with ${String(error)}`;
    }
  });
  return (await Promise.all(ends)).filter((end) => end !== '');
}

describe.each(CLIENTS)('%s', (client) => {
  const made = new Made();
  let server: Server;
  const proxies: Proxy[] = [];

  const on = (where: { host: string; port: number }): Promise<Holdfast> =>
    made.on(openClient(client, where), SHORT);

  beforeAll(async () => {
    server = await serverOf('redis');
  });
  afterEach(async () => {
    server.resume();
    await made.close();
    for (const proxy of proxies.splice(0)) await proxy.close();
  });

  it('reports unreachable when no server listens any more', async () => {
    const target = { host: '127.0.0.1', port: await closedPort() };
    const proxy = await startProxy(server);
    proxies.push(proxy);
    const one = await on(proxy);
    await one.inspect(freshKey());
    proxy.redirect(target);
    proxy.cut();
    expect(await others(one)).toEqual([]);
    expect(await others(one, looks(one))).toEqual([]);
  });

  it('reports unreachable when the server is stopped', async () => {
    const one = await on(server);
    await one.inspect(freshKey());
    server.pause();
    expect(await others(one)).toEqual([]);
    expect(await others(one, looks(one))).toEqual([]);
  });

  it('reports unreachable when the server stops during the wait', async () => {
    const [one, holder] = [await on(server), await on(server)];
    const key = freshKey();
    const lease = await holder.mutex(key).acquire();
    const trying = later(one.mutex(key).tryAcquire({ wait: paced(1500) }));
    const acquiring = later(one.mutex(key).acquire({ wait: paced(1500) }));
    await queued(holder, key, 2, [one]);
    server.pause();
    for (const ending of [trying, acquiring]) {
      const error = await failure(ending, 'HOLDFAST_UNREACHABLE');
      expect((error.cause as Error).message).toContain(`${LIMIT} ms`);
    }
    server.resume();
    await queued(holder, key, 0);
    await lease.release();
    await unused(holder, key);
  });

  it('reports a timeout when the server stopped during the wait and is back', async () => {
    const [one, holder] = [await on(server), await on(server)];
    const key = freshKey();
    await using _lease = await holder.mutex(key).acquire();
    const trying = later(one.mutex(key).tryAcquire({ wait: paced(3000) }));
    await queued(holder, key, 1);
    server.pause();
    await sleep(500);
    server.resume();
    expect(await trying).toBeNull();
  });
});

describe('a server that refuses temporarily', () => {
  const made = new Made();
  afterEach(() => made.close());

  it.each(CLIENTS)('is unreachable, through %s', async (client) => {
    const server = await serverOf('redis');
    const one = await made.on(openClient(client, server), SHORT);
    await one.inspect(freshKey());
    // a replica refuses writes; as with LOADING, this may pass
    await server.command('REPLICAOF', '127.0.0.1', '1');
    try {
      expect(await others(one)).toEqual([]);
    } finally {
      await server.command('REPLICAOF', 'NO', 'ONE');
    }
    await until(async () => (await one.mutex(freshKey()).tryAcquire()) !== null);
  });
});

describe('a wait that is shorter than a round trip', () => {
  const made = new Made();
  let proxy: Proxy;
  afterEach(async () => {
    await made.close();
    await proxy.close();
  });

  it.each(CLIENTS)('gets a free lock, through %s', async (client) => {
    proxy = await startProxy(await serverOf('redis'));
    const one = await made.on(openClient(client, proxy), { ttl: 60_000 });
    await one.inspect(freshKey());
    proxy.delayReply((words) => /^eval/i.test(words[0] ?? ''), 40, { times: 1000 });
    for (const wait of [undefined, 0, 10, 30]) {
      const options = wait === undefined ? {} : { wait };
      const lease = await one.mutex(freshKey()).tryAcquire(options);
      expect(lease?.held, `wait: ${wait}`).toBe(true);
    }
    const held = freshKey();
    await using _lease = await one.mutex(held).acquire();
    expect(await one.mutex(held).tryAcquire({ wait: 10 })).toBeNull();
  });
});

stopServersAfterwards();
