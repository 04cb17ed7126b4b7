/** The fixture of the proxy tests: a server for each file, a proxy and a client for each test. */
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import {
  type Match,
  prepare,
  type Proxy,
  RawClient,
  type Server,
  startProxy,
  startServer,
} from '../src/index.js';

/** The fixture of one test. */
export interface Proxied {
  server: Server;
  proxy: Proxy;
  /** Connected through the proxy. */
  client: RawClient;
  /** Connects another client, through this proxy or another one. */
  connect(to?: { host: string; port: number }): Promise<RawClient>;
}

/** Sets up and tears down the fixture of each test. Read its fields only inside tests. */
export function proxied(): Proxied {
  const clients: RawClient[] = [];
  const at = {} as Proxied;

  at.connect = async (to = at.proxy) => {
    const one = await RawClient.connect(to);
    clients.push(one);
    return one;
  };

  beforeAll(async () => {
    await prepare('redis');
    at.server = await startServer({ server: 'redis' });
  }, 300_000);

  beforeEach(async () => {
    await at.server.command('FLUSHALL');
    at.proxy = await startProxy(at.server);
    at.client = await at.connect();
  });

  afterEach(async () => {
    for (const one of clients.splice(0)) one.close();
    expect(at.proxy.problems).toEqual([]);
    await at.proxy.close();
  });

  afterAll(() => at.server?.stop());
  return at;
}

/** Matches commands or pushes by their first word. */
export function named(name: string): Match {
  return ([first = '']) => first.toUpperCase() === name;
}
