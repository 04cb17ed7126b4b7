/** The claims of `SECURITY.md` about rights, on a quorum. */
import { readFileSync } from 'node:fs';
import { type Server, startServer, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { Holdfast } from '../../src/index.js';
import { CLIENTS, Made, openClient } from '../support/backends.js';
import { rightsOf } from '../support/documented-rights.js';
import { freshKey, queued } from '../suites/helpers.js';

const GUIDE = readFileSync(new URL('../../../../SECURITY.md', import.meta.url), 'utf8');
const LOGIN = { username: 'locks', password: 's3cret' };
const CHANNELS = 'resetchannels &holdfast:wake:*';
let servers: Server[] = [];
let strangers: Redis[] = [];
const made = new Made();

beforeAll(async () => {
  const users = [
    `locks on >s3cret ${rightsOf(GUIDE).single.join(' ')} +pexpire +pttl`,
    `stranger on >s3cret resetkeys ${CHANNELS} -@all +publish +psubscribe +subscribe +info +ping`,
  ];
  servers = await Promise.all([1, 2, 3].map(() => startServer({ server: 'redis', users })));
  strangers = servers.map(({ host, port }) => {
    const login = { username: 'stranger', password: 's3cret', enableReadyCheck: false };
    return new Redis({ host, port, ...login });
  });
});
afterEach(() => made.close());
afterAll(async () => {
  for (const stranger of strangers) stranger.disconnect();
  await Promise.all(servers.map((server) => server.stop()));
});

function open(): Promise<Holdfast> {
  const clients = servers.map(({ host, port }, at) => {
    return openClient(CLIENTS[at % CLIENTS.length] as (typeof CLIENTS)[number], {
      ...{ host, port, ...LOGIN },
    });
  });
  // no waiter polls within a test, so each grant arrives by push
  const options = { ttl: 60_000, claimWindow: 60_000, retention: 600_000 };
  return made.across(Promise.all(clients), options, { durable: true, serverTimeout: 2000 });
}

it('the documented user gets pushes', async () => {
  const [one, other] = [await open(), await open()];
  expect(await one.ready()).toMatchObject({ pushes: true });
  const key = freshKey();
  const lease = await one.mutex(key).acquire();
  const waiting = other.mutex(key).acquire();
  await queued(one, key, 1);
  await lease.release();
  expect((await waiting).fence).toBeGreaterThan(lease.fence);
});

it('a user who may only publish and subscribe grants nothing and ends no process', async () => {
  const heard: [channel: string, text: string][] = [];
  const listeners = servers.map(({ host, port }) => {
    const login = { username: 'stranger', password: 's3cret', enableReadyCheck: false };
    return new Redis({ host, port, ...login });
  });
  for (const [at, listener] of listeners.entries()) {
    await listener.psubscribe('holdfast:wake:*');
    const stranger = strangers[at] as Redis;
    listener.on('pmessage', (_: string, channel: string, text: string) => {
      heard.push([channel, text]);
      if (heard.length > 4000) return;
      // each message comes again, with other numbers, and on each channel
      const forged = [
        text.replace(/^>(\S+ )?/u, '<').replace(/\n[^]*$/u, ' {"status":"granted","left":9e15}'),
        text.replace(/"(left|ttl|expires)":\d+/gu, '"$1":9000000000000000'),
        text.replace(/\d+(?=[^\d]*$)/u, '9000000000000000'),
        `${text.slice(0, 29)}<1.1 {"status":"granted"`,
        `${text.slice(0, 29)}=${'9'.repeat(28)} x\n{{`,
        `>${'9'.repeat(20)} 1 1 1 x{`,
      ];
      for (const one of forged) if (one !== text) void stranger.publish(channel, one);
    });
  }
  const key = freshKey();
  const instances = await Promise.all([1, 2, 3, 4].map(() => open()));
  let [holders, most, grants] = [0, 0, 0];
  const work = instances.map(async (instance) => {
    for (let at = 0; at < 15; at++) {
      await instance.mutex(key).run(async (lease) => {
        holders += 1;
        most = Math.max(most, holders);
        grants += 1;
        expect(lease.remaining).toBeLessThanOrEqual(60_000);
        await new Promise((resolve) => setTimeout(resolve, 1));
        holders -= 1;
      });
    }
  });
  await Promise.all(work);
  await until(() => heard.length > 20);
  for (const listener of listeners) listener.disconnect();
  expect({ most, grants }).toEqual({ most: 1, grants: 60 });
});
