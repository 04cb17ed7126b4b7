/** Tests two claims of `SECURITY.md`: what an attacker cannot do, and which rights are enough. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Server, startServer, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expand, scriptPaths } from '../../../../tools/lua.mjs';
import { rightsOf } from '../support/documented-rights.js';
import type { Holdfast, HoldfastOptions, Lease } from '../../src/index.js';
import { aborted, freshKey, freshKeys, later, queued } from '../suites/helpers.js';
import { CLIENTS, Made, openClient, SERVERS } from '../support/backends.js';

/** No waiter polls within a test, so each grant arrives by push. */
const NO_POLL: HoldfastOptions = { ttl: 60_000, claimWindow: 60_000, retention: 600_000 };

const SCRIPTS = fileURLToPath(new URL('../../src/store/redis/scripts', import.meta.url));

const GUIDE = readFileSync(new URL('../../../../SECURITY.md', import.meta.url), 'utf8');

/** The rights of the user in `SECURITY.md`. */
const documentedRights = (): string[] => rightsOf(GUIDE).single;

/** The commands that the scripts run, in lower case; `pubsub|numsub` for a subcommand. */
function commandsOfScripts(): string[] {
  const found = new Set<string>();
  for (const path of scriptPaths(SCRIPTS)) {
    const source = expand(path);
    const called = /(?:redis\.p?call|in_chunks)\(\s*'([A-Z]+)'(?:,\s*'([A-Z]+)')?/gu;
    for (const [, command = '', sub] of source.matchAll(called)) {
      found.add(command === 'PUBSUB' ? `${command}|${sub}`.toLowerCase() : command.toLowerCase());
    }
  }
  return [...found].sort();
}

it('the documented user may run every command of the scripts', () => {
  const { single, cluster } = rightsOf(GUIDE);
  const rights = [...single, ...cluster];
  const commands = commandsOfScripts();
  expect(commands).toContain('publish');
  expect(commands.filter((command) => !rights.includes(`+${command}`))).toEqual([]);
});

/** `one` holds the lock; `other` waits and is granted it. */
async function handedOver(one: Holdfast, other: Holdfast, key: string): Promise<Lease> {
  const lease = await one.mutex(key).acquire();
  expect(await other.mutex(key).tryAcquire()).toBeNull();
  const waiting = other.mutex(key).acquire();
  await queued(one, key, 1);
  await lease.extend(70_000);
  await lease.release();
  const next = await waiting;
  expect(next.fence).toBeGreaterThan(lease.fence);
  return next;
}

/** Uses every primitive, between two processes. */
async function wholeFamily(one: Holdfast, other: Holdfast): Promise<void> {
  const key = freshKey();
  await (await handedOver(one, other, key)).release();
  // the wake channel is open now, so the store knows it from the first request
  const lease = await handedOver(one, other, key);
  const told = aborted(lease.signal);
  expect((await one.forceRelease(key)).ended).toBe(1);
  await told;
  await condition(one, other);
  await gates(one, other);
  const [sem, rw, slot] = freshKeys(3) as [string, string, string];
  const permits = one.semaphore(sem, { permits: 3 });
  await permits.run(() => permits.run(() => undefined));
  await one.rwLock(rw).read.run(() => other.rwLock(rw).read.run(() => undefined));
  await one.rwLock(rw).write.run(() => undefined);
  await one.allOf(freshKeys(3)).run(() => undefined);
  const ran = await one.schedule(slot, { atLeast: 0 }).runOnce(() => 1, { slot: 'a' });
  expect(ran.ran).toBe(true);
  const seen: string[] = [];
  const held = await one.mutex(key).acquire({ sharedBy: 'someone' });
  for await (const info of other.list()) seen.push(info.key);
  expect(seen).toContain(key);
  await held.release();
}

async function gates(one: Holdfast, other: Holdfast): Promise<void> {
  const [latch, barrier] = freshKeys(2) as [string, string];
  const opened = one.latch(latch, { count: 1 }).await();
  await other.latch(latch, { count: 1 }).countDown();
  await opened;
  await Promise.all([one, other].map((each) => each.barrier(barrier, { parties: 2 }).await()));
}

async function condition(one: Holdfast, other: Holdfast): Promise<void> {
  const key = freshKey();
  const [mutex, own] = [other.mutex(key), await one.mutex(key).acquire()];
  const parked = one.mutex(key).condition('c').await(own);
  const signaller = await mutex.acquire();
  expect(await mutex.condition('c').signal(signaller)).toBe(1);
  await signaller.release();
  await parked;
  await own.release().catch(() => undefined);
}

describe.each(SERVERS)('%s', (name) => {
  let server: Server;
  let stranger: Redis;
  const made = new Made();

  beforeAll(async () => {
    const users = [
      `locks on >s3cret ${documentedRights().join(' ')}`,
      'stranger on >s3cret resetkeys resetchannels &holdfast:wake:* -@all +publish +info +ping',
    ];
    server = await startServer({ server: name, users });
    const login = { username: 'stranger', password: 's3cret', enableReadyCheck: false };
    stranger = new Redis({ host: server.host, port: server.port, ...login });
    stranger.on('error', () => undefined);
  });
  afterEach(() => made.close());
  afterAll(async () => {
    stranger.disconnect();
    await server.stop();
  });

  const make = (client: (typeof CLIENTS)[number]): Promise<Holdfast> => {
    const login = { username: 'locks', password: 's3cret' };
    return made.on(openClient(client, { host: server.host, port: server.port, ...login }), NO_POLL);
  };

  it.each(CLIENTS)('the documented user can use all primitives: %s', async (client) => {
    await wholeFamily(await make(client), await make(client));
  });

  it('ready says which rights are missing', async () => {
    const rights = documentedRights();
    await server.command('ACL', 'SETUSER', 'deaf', 'on', '>s3cret', ...rights, 'resetchannels');
    const as = (username: string): Promise<Holdfast> => {
      const login = { username, password: 's3cret' };
      const client = openClient('ioredis-6', { host: server.host, port: server.port, ...login });
      return made.on(client, NO_POLL);
    };
    expect(await (await as('locks')).ready()).toMatchObject({ pushes: true });
    expect(await (await as('deaf')).ready()).toMatchObject({ pushes: false });
    await expect((await as('stranger')).ready()).rejects.toMatchObject({
      code: 'HOLDFAST_REFUSED',
      message: expect.stringMatching(/NOPERM/),
    });
  });

  it('a user with rights to channels only cannot grant or end a lease', async () => {
    const [one, other] = [await make('ioredis-6'), await make('ioredis-6')];
    const key = freshKey();
    const lease = await one.mutex(key).acquire();
    let granted = false;
    const waiting = other.mutex(key).acquire();
    void later(waiting.then(() => (granted = true)));
    const info = await queued(one, key, 1);
    const [id, fence] = [info.waiters[0]?.id as string, lease.fence + 1];
    const channels = async (): Promise<string[] | false> => {
      const open = (await server.command('PUBSUB', 'CHANNELS', 'holdfast:wake:*')) as string[];
      return open.length === 1 && open;
    };
    const [channel] = await until(channels, { what: 'one channel is open' });
    const grant = `g ${id} ${fence} ${fence} 864000000000 0 1`;
    const pushes = [grant, `${grant} `, `${grant} ${'x'.repeat(16)}`, 'g', '', `r ${id}`];
    for (const push of pushes) expect(await stranger.publish(channel as string, push)).toBe(1);
    // the client reads the next message after the forged ones
    const reset = later(other.barrier(freshKey(), { parties: 2 }).await());
    await lease.extend(60_000);
    expect(granted).toBe(false);
    await lease.release();
    const next = await waiting;
    expect(next.remaining).toBeLessThanOrEqual(60_000);
    await stranger.publish(channel as string, `r ${id}`);
    await next.extend(60_000);
    expect(next.held).toBe(true);
    await other.close({ grace: 0 });
    await expect(reset).rejects.toMatchObject({ code: 'HOLDFAST_CLOSED' });
  });
});
