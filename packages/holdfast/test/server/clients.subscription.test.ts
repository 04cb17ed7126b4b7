/** The subscriptions of clients/port.ts, for each client, protocol and server. */
import { type Server, startProxy, until } from 'holdfast-testkit';
import { afterEach, beforeAll, expect, it } from 'vitest';
import type { SubscriptionListener } from '../../src/store/clients/port.js';
import { type Adapter, closeAll, matrix, type Protocol, type Where } from './clients.support.js';

/** What a listener received: `up`, `down`, or a payload after a colon. */
function recorder(onUp: () => void = () => undefined): SubscriptionListener & { log: string[] } {
  const log: string[] = [];
  return {
    log,
    message: (payload) => void log.push(`:${payload}`),
    up: () => {
      log.push('up');
      onUp();
    },
    down: () => void log.push('down'),
  };
}

const isSubscribe = (words: string[]): boolean => words[0]?.toLowerCase() === 'subscribe';

function subscriptionSuite(adapter: Adapter, protocol: Protocol, servers: () => Server): void {
  let server: Server;
  let where: Where;
  const ioredis = adapter.name.startsWith('ioredis');

  beforeAll(() => {
    server = servers();
    where = { host: server.host, port: server.port, protocol };
  });
  afterEach(async () => {
    await closeAll();
    await noSubscriber();
  });

  const subscribers = async (): Promise<string[]> =>
    String(await server.command('CLIENT', 'LIST', 'TYPE', 'pubsub'))
      .split('\n')
      .filter((line) => line !== '');
  const noSubscriber = (): Promise<unknown> =>
    until(async () => (await subscribers()).length === 0);
  const kill = (): Promise<unknown> => server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
  const publish = (payload: string, channel = 'c'): Promise<unknown> =>
    server.command('PUBLISH', channel, payload);

  it('receives messages of its own channel only', async () => {
    const { port } = await adapter.open({ ...where, db: 2 });
    const heard = recorder();
    const subscription = await port.subscribe('c', heard);
    const payloads = ['g id 1 2', '', 'ä€😀\r\n\0"', 'x'.repeat(100_000)];
    // the subscription is confirmed: each publication finds one receiver
    for (const payload of payloads) expect(await publish(payload)).toBe(1);
    expect(await publish('no', 'd')).toBe(0);
    await publish('last');
    await until(() => heard.log.includes(':last'));
    expect(heard.log).toEqual([...payloads, 'last'].map((payload) => `:${payload}`));
    await subscription.close();
  });

  it('receives what a script publishes, with any key prefix', async () => {
    const prefix = adapter.keyPrefix ? { keyPrefix: 'pre:' } : {};
    const { port } = await adapter.open({ ...where, ...prefix });
    const heard = recorder();
    const subscription = await port.subscribe('c', heard);
    const source = "return redis.call('PUBLISH', ARGV[1], ARGV[2])";
    expect(await port.eval(source, ['k'], ['c', 'hello'])).toBe(1);
    await until(() => heard.log.length > 0);
    expect(heard.log).toEqual([':hello']);
    await subscription.close();
  });

  it('reports each loss and each confirmation once', async () => {
    const { port } = await adapter.open({ ...where, impatient: true });
    // published as soon as `up` is called: from here on no message may be lost
    const receivers: Promise<unknown>[] = [];
    const heard = recorder(() => receivers.push(publish('after')));
    const subscription = await port.subscribe('c', heard);
    for (let round = 1; round <= 3; round++) {
      expect(await kill()).toBe(1);
      await until(() => heard.log.length === 3 * round);
    }
    expect(heard.log).toEqual(Array.from({ length: 3 }, () => ['down', 'up', ':after']).flat());
    expect(await Promise.all(receivers)).toEqual([1, 1, 1]);
    expect(await subscribers()).toHaveLength(1);
    await subscription.close();
  });

  it("survives a server restart, also if the user's client does not reconnect", async () => {
    const extra = ioredis
      ? { maxRetriesPerRequest: 1, enableOfflineQueue: false, commandTimeout: 60_000 }
      : { disableOfflineQueue: true };
    const { port } = await adapter.open({ ...where, impatient: true, extra });
    const heard = recorder();
    const subscription = await port.subscribe('c', heard);
    await server.kill();
    await until(() => heard.log.includes('down'));
    await server.restart();
    await until(() => heard.log.includes('up'), { within: 10_000 });
    expect(await publish('again')).toBe(1);
    await until(() => heard.log.includes(':again'));
    expect(heard.log).toEqual(['down', 'up', ':again']);
    await subscription.close();
  });

  it('reports `up` once, after the confirmation', async () => {
    await using proxy = await startProxy(server);
    const { port } = await adapter.open({ ...where, port: proxy.port });
    const heard = recorder();
    const subscription = await port.subscribe('c', heard);
    const lost = proxy.dropReply(isSubscribe, { times: 2 });
    await kill();
    await lost.applied(2);
    await until(() => heard.log.includes('up'), { within: 10_000 });
    expect(await publish('one')).toBe(1);
    await until(() => heard.log.includes(':one'));
    expect(heard.log).toEqual(['down', 'up', ':one']);
    const links = proxy.log.filter(({ command }) => isSubscribe(command)).map(({ link }) => link);
    expect(new Set(links).size).toBe(links.length);
    await subscription.close();
    expect(proxy.problems).toEqual([]);
  });

  it('reconnects after the server has refused it for a while', async () => {
    const user = { ...where, username: 'locker', password: 's3cret!' };
    const { port } = await adapter.open(user);
    await using proxy = await startProxy(server);
    const other = await adapter.open({ ...user, port: proxy.port });
    const heard = recorder();
    const subscription = await other.port.subscribe('c', heard);
    await server.command('ACL', 'SETUSER', 'locker', 'resetchannels');
    try {
      await kill();
      await until(() => proxy.log.filter(({ command }) => isSubscribe(command)).length >= 3);
    } finally {
      await server.command('ACL', 'SETUSER', 'locker', 'allchannels');
    }
    await until(() => heard.log.includes('up'), { within: 10_000 });
    expect(heard.log).toEqual(['down', 'up']);
    expect(await port.eval('return 1', [], [])).toBe(1);
    await subscription.close();
  });

  it("connects as the client's user, over TLS", async () => {
    const { port } = await adapter.open({
      ...where,
      port: server.tlsPort ?? 0,
      ca: server.ca,
      username: 'locker',
      password: 's3cret!',
      name: 'mine',
    });
    const heard = recorder();
    const subscription = await port.subscribe('c', heard);
    expect((await subscribers())[0]).toMatch(/ name=mine:holdfast .* user=locker/);
    expect((await subscribers())[0]).toContain(` resp=${protocol}`);
    await publish('sealed');
    await until(() => heard.log.includes(':sealed'));
    await kill();
    await until(() => heard.log.includes('up'));
    await subscription.close();
  });

  it('rejects with the first failure, and leaves no connection', async () => {
    await using proxy = await startProxy(server);
    const from = async (more: object): Promise<unknown> => {
      const at = { ...where, port: proxy.port, offline: true, ...more };
      const { port, close } = await adapter.open(at);
      const error: unknown = await port.subscribe('c', recorder()).catch((reason) => reason);
      expect(error).toBeInstanceOf(Error);
      await close();
      await until(() => proxy.connections === 0);
      return [(error as Error).message, port.isReply(error)];
    };
    const login = { username: 'deaf', password: 's3cret!' };
    // no program of another test can take this port meanwhile
    const nowhere = await from({ port: 1 });
    expect(nowhere).toEqual([expect.stringContaining('ECONNREFUSED'), false]);
    expect(await from(login)).toEqual([expect.stringContaining('NOPERM'), true]);
    const wrong = await from({ ...login, password: 'wrong' });
    expect(wrong).toEqual([expect.stringContaining('WRONGPASS'), false]);
    proxy.dropReply(isSubscribe);
    expect(await from({})).toEqual([expect.any(String), false]);
  });

  it("calls no listener after close, and keeps the user's client open", async () => {
    const { port } = await adapter.open(where);
    const heard = recorder();
    const first = await port.subscribe('c', heard);
    const second = await port.subscribe('c', heard);
    expect(await publish('both')).toBe(2);
    await until(() => heard.log.length === 2);
    await first.close();
    await first.close();
    await until(async () => (await subscribers()).length === 1);
    expect(await port.eval('return 1', [], [])).toBe(1);
    const closing = second.close();
    await publish('too late');
    await closing;
    await noSubscriber();
    expect(await port.eval('return 1', [], [])).toBe(1);
    expect(heard.log).toEqual([':both', ':both']);
  });

  it('can be closed while it is disconnected', async () => {
    await using proxy = await startProxy(server);
    const { port } = await adapter.open(where);
    const other = await adapter.open({ ...where, port: proxy.port });
    const heard = recorder();
    const refused = await other.port.subscribe('c', heard);
    const held = await other.port.subscribe('c', heard);
    // one subscription waits for its next attempt or is refused; the other hangs in its login
    proxy.refuse();
    proxy.cut();
    await until(() => heard.log.length === 2);
    await refused.close();
    proxy.heal();
    proxy.holdRequests();
    // the connections of the client and of the subscription
    await until(() => proxy.connections === 2 && proxy.held >= 2, { within: 10_000 });
    await held.close();
    await until(() => proxy.connections === 1);
    proxy.releaseRequests();
    await other.close();
    await until(() => proxy.connections === 0);
    expect(heard.log).toEqual(['down', 'down']);
    expect(await port.eval('return 1', [], [])).toBe(1);
  });

  it('closes at once, also if the server is frozen', async () => {
    const { port } = await adapter.open(where);
    const subscription = await port.subscribe('c', recorder());
    server.pause();
    try {
      const start = performance.now();
      await subscription.close();
      // ioredis alone would wait two seconds for the server
      expect(performance.now() - start).toBeLessThan(1000);
    } finally {
      server.resume();
    }
  });

  if (!ioredis) {
    it('can be closed while it connects', async () => {
      await using proxy = await startProxy(server);
      const waiting: (() => void)[] = [];
      let holds = false;
      const lookup = (...[, , found]: [string, object, (...found: unknown[]) => void]): void => {
        const answer = (): void => found(null, [{ address: proxy.host, family: 4 }]);
        if (holds) waiting.push(answer);
        else answer();
      };
      const socket = { host: 'localhost', port: proxy.port, lookup, reconnectStrategy: 10 };
      const { port } = await adapter.open({ ...where, extra: { socket } });
      const subscription = await port.subscribe('c', recorder());
      holds = true;
      await kill();
      await until(() => waiting.length === 1);
      await subscription.close();
      waiting[0]?.();
      await until(() => proxy.accepted === 3 && proxy.connections === 1);
      expect(await port.eval('return 1', [], [])).toBe(1);
    });

    it('ignores pings', async () => {
      await using proxy = await startProxy(server);
      const extra = { pingInterval: 10 };
      const { port } = await adapter.open({ ...where, port: proxy.port, extra });
      const heard = recorder();
      const subscription = await port.subscribe('c', heard);
      const link = proxy.log.find(({ command }) => isSubscribe(command))?.link;
      const pings = (): number =>
        proxy.log.filter((one) => one.link === link && one.command[0] === 'PING').length;
      await until(() => pings() >= 8);
      await publish('between');
      await until(() => heard.log.length > 0);
      expect(heard.log).toEqual([':between']);
      await subscription.close();
    });
  }
}

matrix(subscriptionSuite);
