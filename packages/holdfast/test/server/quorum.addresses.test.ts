/** The address of a member leads to another server, after the first use. */
import { paced, type Proxy, type Server, startProxy, until } from 'holdfast-testkit';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Holdfast } from '../../src/index.js';
import { Made, membersOf, openClients, stopServersAfterwards } from '../support/backends.js';
import { failure, freshKey } from '../suites/helpers.js';

const made = new Made();
const TERMS = { ttl: 60_000, unreachableAfter: paced(2000) };
const SETTINGS = { serverTimeout: paced(100), durable: true };
let servers: Server[] = [];
let proxies: Proxy[] = [];

beforeEach(async () => {
  servers = await membersOf(3);
  proxies = await Promise.all(servers.map((server) => startProxy(server)));
});
afterEach(async () => {
  await made.close();
  await Promise.all(proxies.map((proxy) => proxy.close()));
});
stopServersAfterwards();

/** The address of one server leads to another one from now on. */
function lead(from: number, to: number): void {
  proxies[from]?.redirect(servers[to] as Server);
  proxies[from]?.cut();
}

/** A process that has used all servers. */
async function used(): Promise<Holdfast> {
  const addresses = proxies.map(({ host, port }) => ({ host, port })) as Server[];
  const holdfast = await made.across(openClients(addresses), TERMS, SETTINGS);
  await holdfast.mutex(freshKey()).run(() => undefined);
  return holdfast;
}

it('no server votes twice', { timeout: paced(30_000) }, async () => {
  const [holdfast, key] = [await used(), freshKey()];
  lead(0, 1);
  // the majority of this process would be one server
  proxies[2]?.blackhole();
  const lock = holdfast.mutex(key);
  const isRefused = async (): Promise<boolean> => {
    const answer = await lock.tryAcquire().then((lease) => `held: ${lease?.held}`, String);
    expect(answer).toContain('HoldfastError');
    return answer.includes('server 2 and server 1 are the same server');
  };
  await until(isRefused, { within: paced(10_000) });
  proxies[2]?.heal();
  await failure(lock.acquire(), 'HOLDFAST_REFUSED');
  lead(0, 0);
  await until(() => lock.tryAcquire().then(Boolean, () => false), { within: paced(10_000) });
});

it('two members may exchange their addresses', { timeout: paced(30_000) }, async () => {
  const [holdfast, key] = [await used(), freshKey()];
  const lease = await holdfast.mutex(key).acquire();
  lead(0, 1);
  lead(1, 0);
  await holdfast.mutex(freshKey()).run(() => undefined);
  expect(await lease.extend(60_000)).toBeGreaterThan(0);
  expect(await lease.release()).toBe('freed');
});
