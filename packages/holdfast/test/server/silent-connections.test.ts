/** Connections that die silently, and connections that outlive their password. */
import { type Proxy, type Server, startProxy, startServer, until } from 'holdfast-testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Holdfast, HoldfastWarning, NodeRedisLike } from '../../src/index.js';
import { CLIENTS, Made, openClient } from '../support/backends.js';
import { failure, freshKey, queued } from '../suites/helpers.js';

const made = new Made();
afterEach(() => made.close());

const TERMS = { claimWindow: 300, requestTimeout: 1000, ttl: 5000, unreachableAfter: 20_000 };

describe.each(CLIENTS)('%s: the connection for wake-ups dies silently', (client) => {
  let server: Server;
  let proxy: Proxy;
  beforeAll(async () => {
    server = await startServer({ server: 'redis' });
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    proxy = await startProxy(server);
  });
  afterEach(() => proxy.close());

  const open = async (warnings: HoldfastWarning[] = []): Promise<Holdfast> => {
    const onWarning = (warning: HoldfastWarning): void => void warnings.push(warning);
    const { host, port } = proxy;
    return made.on(openClient(client, { host, port }), { ...TERMS, onWarning });
  };
  const silence = (): void => {
    const subscribed = proxy.log.filter(({ command }) => /^subscribe$/i.test(command[0] as string));
    proxy.silence((link) => subscribed.some((one) => one.link === link));
  };

  it('is replaced after a poll has found a grant whose message did not come', async () => {
    const warnings: HoldfastWarning[] = [];
    const holdfast = await open(warnings);
    const { host, port } = server;
    const other = await made.on(openClient(client, { host, port }), TERMS);
    await holdfast.warmUp();
    silence();
    const replaced = (): boolean => proxy.count('subscribe') > 1 && holdfast.stats().pushes;
    const end = performance.now() + 20_000;
    while (!replaced() && performance.now() < end) {
      const key = freshKey();
      const held = await other.mutex(key).acquire();
      const waits = holdfast.mutex(key).acquire();
      await queued(other, key, 1);
      await held.release();
      await (await waits).release();
    }
    expect(replaced()).toBe(true);
    expect(warnings.map(({ code }) => code)).toContain('HOLDFAST_POLLING');
    expect(warnings.find(({ code }) => code === 'HOLDFAST_POLLING')?.message).toMatch(
      /messages did not arrive.*It is replaced/,
    );
    expect((await holdfast.ready()).pushes).toBe(true);
  });

  it('is replaced by ready() and by warmUp()', async () => {
    const holdfast = await open();
    for (const replaced of [2, 3]) {
      await holdfast.warmUp();
      silence();
      if (replaced === 2) expect((await holdfast.ready()).pushes).toBe(true);
      else await holdfast.warmUp();
      expect(proxy.count('subscribe')).toBeGreaterThanOrEqual(replaced);
    }
  });

  it('is found by the doctor', async () => {
    const holdfast = await open();
    await holdfast.warmUp();
    silence();
    const found = (await holdfast.doctor()).findings.map(({ code }) => code);
    expect(found).toContain('silent-connection');
    expect((await holdfast.doctor()).findings.map(({ code }) => code)).not.toContain(
      'silent-connection',
    );
  });

  it('says so if messages never arrive', async () => {
    const holdfast = await open();
    proxy.dropPush(() => true, { times: Number.POSITIVE_INFINITY });
    expect((await holdfast.ready()).pushes).toBe(false);
    await expect(holdfast.warmUp()).rejects.toThrow(/messages did not arrive/);
  });
});

describe.each(CLIENTS)('%s: the password of the client is replaced', (client) => {
  it('the connection for wake-ups comes back with the new one', async () => {
    const users = ['default off', 'admin on >admin ~* &* +@all', 'locks on >one ~* &* +@all'];
    await using server = await startServer({ server: 'redis', users });
    const { host, port } = server;
    const opened = openClient(client, { host, port, username: 'locks', password: 'one' });
    const warnings: HoldfastWarning[] = [];
    const onWarning = (warning: HoldfastWarning): void => void warnings.push(warning);
    const holdfast = await made.on(opened, { ...TERMS, onWarning });
    await holdfast.warmUp();
    await server.command('ACL', 'SETUSER', 'locks', 'resetpass', '>two');
    // before the program has the new password
    await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await until(() => !holdfast.stats().pushes);
    const admin = { host, port, username: 'admin', password: 'admin' };
    const other = await made.on(openClient(client, admin), TERMS);
    const lease = await other.mutex('key').acquire();
    const waits = holdfast.mutex('key').acquire();
    const told = /WRONGPASS.*set the new one in the options of the client/;
    await until(() => warnings.some(({ message }) => told.test(message)), { within: 15_000 });
    const { findings } = await holdfast.doctor();
    expect(findings).toContainEqual(
      expect.objectContaining({
        code: 'login-refused',
        evidence: expect.stringMatching(/WRONGPASS/),
      }),
    );
    const { options } = (await opened).client as unknown as { options: { password: string } };
    options.password = 'two';
    await until(() => holdfast.stats().pushes, { within: 15_000 });
    await lease.release();
    await (await waits).release();
    expect((await holdfast.ready()).pushes).toBe(true);
  });
});

describe.each(CLIENTS)('%s: the connection of the client dies silently', (client) => {
  it('is replaced, or the program is told how', async () => {
    await using server = await startServer({ server: 'redis' });
    await using proxy = await startProxy(server);
    const warnings: HoldfastWarning[] = [];
    const onWarning = (warning: HoldfastWarning): void => void warnings.push(warning);
    const opened = openClient(client, { host: proxy.host, port: proxy.port });
    const holdfast = await made.on(opened, { ...TERMS, onWarning });
    await holdfast.mutex('key').run(() => undefined);
    proxy.silence();
    await failure(holdfast.mutex('key').tryAcquire(), 'HOLDFAST_UNREACHABLE');
    const told = (): HoldfastWarning | undefined =>
      warnings.find(({ code }) => code === 'HOLDFAST_SILENT_CLIENT');
    await until(() => told() !== undefined, { within: 10_000 });
    const ioredis = client.startsWith('ioredis');
    expect(told()?.message).toMatch(ioredis ? /It was ended/ : /client.destroy\(\) and await/);
    if (!ioredis) {
      const { client: own } = await opened;
      (own as unknown as { destroy(): void }).destroy();
      await (own as NodeRedisLike).connect();
    }
    const works = (): Promise<boolean> =>
      holdfast
        .mutex('key')
        .run(() => true)
        .catch(() => false);
    await until(works, { within: 15_000 });
  });

  it('is left alone while a blocking command of the program waits', async () => {
    await using server = await startServer({ server: 'redis' });
    const { host, port } = server;
    const opened = openClient(client, { host, port });
    const holdfast = await made.on(opened, TERMS);
    const own = (await opened).client as unknown as {
      call?(...words: string[]): Promise<unknown>;
      sendCommand(words: string[]): Promise<unknown>;
    };
    const words = ['BLPOP', 'list', '0'];
    const popped = own.call === undefined ? own.sendCommand(words) : own.call(...words);
    const blocked = async (): Promise<string | undefined> => {
      const list = String(await server.command('CLIENT', 'LIST')).split('\n');
      return /^id=(\d+)/.exec(list.find((line) => line.includes(' cmd=blpop ')) ?? '')?.[1];
    };
    await until(async () => (await blocked()) !== undefined);
    const before = await blocked();
    await failure(holdfast.mutex('key').tryAcquire(), 'HOLDFAST_UNREACHABLE');
    // the examination takes less than its two answers and the time between them
    const other = await made.on(openClient(client, { host, port }), TERMS);
    const end = performance.now() + 1500;
    await until(() => performance.now() > end);
    expect(await blocked()).toBe(before);
    await server.command('RPUSH', 'list', 'value');
    expect(JSON.stringify(await popped)).toContain('value');
    await other.mutex('other').run(() => undefined);
  });
});
