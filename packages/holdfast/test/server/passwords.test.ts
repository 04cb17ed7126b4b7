/** No error contains the client's password. */
import { inspect } from 'node:util';
import { paced, type Server, startServer } from 'holdfast-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Holdfast } from '../../src/index.js';
import { CLIENTS, Made, openClient, SERVERS } from '../support/backends.js';
import type { Opened } from './clients.support.js';

const WRONG = 'wr0ng-p4ssword';
const OPTIONS = { requestTimeout: paced(300), unreachableAfter: paced(600) };

/** The full text of each call's error, as a log would show it. */
async function shown(calls: readonly (() => Promise<unknown>)[]): Promise<string[]> {
  return Promise.all(
    calls.map(async (call) => {
      const error = await call().then(
        (value) => expect.fail(`resolved to ${String(value)}`),
        (reason: unknown) => reason,
      );
      expect(error).toMatchObject({ name: 'HoldfastError' });
      return inspect(error, { depth: 20, showHidden: true, getters: true });
    }),
  );
}

type Calls = (holdfast: Holdfast) => (() => Promise<unknown>)[];

const calls: Calls = (holdfast) => [
  () => holdfast.mutex('k').acquire({ wait: 5000 }),
  () => holdfast.mutex('k').tryAcquire(),
  () => holdfast.inspect('k'),
  () => holdfast.forceRelease('k'),
  () => holdfast.list().next(),
  () => holdfast.latch('l', { count: 1 }).await(),
  () => holdfast.barrier('b', { parties: 1 }).waiting(),
  () => holdfast.semaphore('s', { permits: 2 }).acquire(1, { wait: 100 }),
];

/** The full texts of the errors of all calls. The tests mostly wait, so several run at a time. */
async function texts(opening: Promise<Opened>, more: Calls = () => []): Promise<string[]> {
  const made = new Made();
  try {
    const holdfast = await made.on(opening, OPTIONS);
    return await shown([...more(holdfast), ...calls(holdfast)]);
  } finally {
    await made.close();
  }
}

describe.each(SERVERS)('%s', (name) => {
  let server: Server;

  beforeAll(async () => {
    // with an open default user, node-redis continues as that user after a refused login
    const users = [
      'default off',
      'locks on >right ~holdfast:* &holdfast:* +@all',
      'weak on >right -@all +info',
    ];
    server = await startServer({ server: name, users });
  });
  afterAll(() => server.stop());

  it.concurrent.each(CLIENTS)('a wrong password: %s', async (client) => {
    const { host, port } = server;
    const where = { host, port, username: 'locks', password: WRONG, offline: true };
    const found = await texts(openClient(client, where));
    for (const text of found) expect(text).not.toContain(WRONG);
  });

  it.concurrent.each(CLIENTS)('a user without rights: %s', async (client) => {
    const { host, port } = server;
    const where = { host, port, username: 'weak', password: 'right', extra: {} };
    const key = 'a key that is secret';
    const found = await texts(openClient(client, where), (holdfast) => [
      () => holdfast.mutex('k', { label: key }).acquire(),
    ]);
    for (const text of found) {
      expect(text).toMatch(/HOLDFAST_REFUSED/);
      expect(text).not.toContain(key);
      expect(text).not.toMatch(/args:/);
    }
  });
});
