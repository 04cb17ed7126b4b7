/** Renewals of several leases with one command, on real servers: results, counts, full servers. */
import { type ServerName, startServer, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Acquire, RenewMany } from '../../src/engine/commands.js';
import { systemClock } from '../../src/base/clock.js';
import { type Clock, Holdfast, type Lease } from '../../src/index.js';
import { FAILED } from '../../src/store/port.js';
import { asking } from '../support/crowds.js';
import { StoreOnServer } from '../support/store-on-server.js';

const retention = 60_000;
const ttl = 10_000;
const mutex: Partial<Acquire> = { capacity: 1, ttl, retention };
/** A lease that lasts for longer than a claim window costs one command more: see `lasting.ts`. */
const QUIET = { claimWindow: 60_000, retention: 180_000 };
const names = (count: number): string[] => Array.from({ length: count }, (_, at) => `k${at}`);

describe.each<ServerName>(['redis', 'valkey'])('on %s', (name) => {
  const at = new StoreOnServer(name, 'r:');
  beforeEach(async () => {
    await at.redis.flushall();
    at.renew();
  });

  async function grant(...requests: Acquire[]): Promise<void> {
    for (const reply of await Promise.all(at.store.execute(requests))) {
      expect(['granted', 'queued']).toContain(reply.status);
    }
  }

  async function renew(keys: string[], ids: string[], more: Partial<RenewMany> = {}) {
    const command: RenewMany = { op: 'renewMany', keys, ids, ttl, retention, ...more };
    const [reply] = await Promise.all(at.store.execute([command]));
    if (reply?.status !== 'renewals') throw new Error('not a reply to renewMany');
    return reply.left;
  }

  it('500 mutexes cost one command, and two inner calls for each', async () => {
    const keys = names(500);
    const ids = keys.map((key) => `id of ${key}`);
    await grant(...keys.map((key, at) => asking(ids[at] as string, { ...mutex, key })));
    // moves the expiries of the keys
    await renew(keys, ids);
    await at.redis.config('RESETSTAT');
    const left = await renew(keys, ids);
    expect(new Set(left)).toEqual(new Set([ttl * 1000]));
    const inner = await at.calls('evalsha', 'time', 'hget', 'hset', 'pexpireat');
    expect(inner).toEqual([1, 1, 500, 500, 0]);
  });

  it('20,000 leases in doubt cost one command for 500, and none is lost or extended', async () => {
    let step = 0;
    const clock: Clock = { ...systemClock, wall: () => systemClock.wall() + step };
    const holdfast = new Holdfast(at.store, { clock, requestTimeout: 20_000, ...QUIET });
    const take = (key: string): Promise<Lease> =>
      holdfast.mutex(key).acquire({ ttl: 600_000, renew: false });
    const leases: Lease[] = [];
    const keys = names(20_000);
    while (keys.length > 0) leases.push(...(await Promise.all(keys.splice(0, 2000).map(take))));
    await at.redis.config('RESETSTAT');
    step = 2000;
    expect(leases[0]?.held).toBe(false);
    await until(() => leases.every((lease) => lease.held));
    expect(await at.calls('evalsha', 'hset')).toEqual([40, 0]);
    await holdfast.close({ grace: 0 });
  });

  it('100 semaphores cost two commands', async () => {
    const keys = names(100);
    await grant(...keys.map((key) => asking('a', { ...mutex, capacity: 3, key })));
    // the first use tests for one server
    for (let round = 0; round < 2; round++) await renew(['k0', 'k1'], ['a', 'a']);
    await at.redis.config('RESETSTAT');
    const left = await renew(
      keys,
      keys.map(() => 'a'),
    );
    expect(new Set(left)).toEqual(new Set([ttl * 1000]));
    expect(await at.calls('evalsha')).toEqual([2]);
  });

  it('each lease has its own answer, and an error affects only its key', async () => {
    await grant(
      asking('a', { ...mutex, key: 'mutex' }),
      asking('a', { ...mutex, key: 'waited for' }),
      asking('b', { ...mutex, key: 'waited for' }),
      asking('a', { ...mutex, key: 'owned', owner: 'o' }),
      asking('a', { ...mutex, key: 'long', ttl: 3 * ttl }),
      asking('a', { ...mutex, key: 'several', capacity: 3 }),
      asking('b', { ...mutex, key: 'other' }),
    );
    await at.redis.set('r:{text}', 'not a record');
    await at.redis.rpush('r:{damaged}', 'not a record');
    const keys = ['mutex', 'text', 'waited for', 'owned', 'damaged', 'long', 'several'];
    const left = await renew(
      [...keys, 'other', 'none'],
      names(9).map(() => 'a'),
    );
    const whole = ttl * 1000;
    expect([...left.slice(0, 5), ...left.slice(6)]).toEqual([
      ...[whole, FAILED, whole, whole, FAILED, whole, 0, 0],
    ]);
    expect(left[5]).toBeGreaterThan(2.9 * whole);
  });

  it('the expiry of a key moves when less than the retention would be left', async () => {
    await grant(asking('a', { ...mutex, key: 'k' }));
    await renew(['k'], ['a'], { retention: 1.001 * retention });
    const before = await at.redis.pexpiretime('r:{k}');
    await renew(['k', 'k'], ['a', 'a'], { retention: 1.4 * retention });
    expect(await at.redis.pexpiretime('r:{k}')).toBe(before);
    await renew(['k', 'k'], ['a', 'a'], { retention: 2.5 * retention });
    expect(await at.redis.pexpiretime('r:{k}')).toBeGreaterThan(before + retention);
  });

  it('a server without memory renews all kinds of leases', async () => {
    const kinds = [1, 1, 3, 3].map((capacity, at) =>
      asking('a', { ...mutex, capacity, key: `k${at}` }),
    );
    await grant(...kinds);
    await renew(names(4), ['a', 'a', 'a', 'a']);
    await at.redis.config('SET', 'maxmemory', '1');
    try {
      const refused = Promise.all(at.store.execute([asking('a', { ...mutex, key: 'new' })]));
      await expect(refused).rejects.toThrow(/^OOM/);
      const left = await renew(names(4), ['a', 'a', 'a', 'a'], { ttl: 2 * ttl });
      expect(left).toEqual(names(4).map(() => 2 * ttl * 1000));
    } finally {
      await at.redis.config('SET', 'maxmemory', '0');
    }
  });

  it('a server that forgot its scripts gets their text', async () => {
    await grant(asking('a', { ...mutex, key: 'k0' }), asking('a', { ...mutex, key: 'k1' }));
    await at.redis.script('FLUSH');
    expect(await renew(names(2), ['a', 'a'])).toEqual([ttl * 1000, ttl * 1000]);
  });

  it('a node of a cluster gets one command for each lease', async () => {
    await using cluster = await startServer({ server: name, args: ['--cluster-enabled', 'yes'] });
    await cluster.command('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
    await until(async () => String(await cluster.command('CLUSTER', 'INFO')).includes('state:ok'));
    const client = new Redis(cluster.port, cluster.host);
    at.renew(client);
    await grant(...names(10).map((key) => asking('a', { ...mutex, key })));
    for (let round = 0; round < 2; round++) {
      const left = await renew(
        [...names(10), 'none'],
        names(11).map(() => 'a'),
      );
      expect(left).toEqual([...names(10).map(() => ttl * 1000), 0]);
    }
    client.disconnect();
  });

  it('a process with a thousand leases sends at most one command for a hundred renewals', {
    timeout: 60_000,
  }, async () => {
    const holdfast = new Holdfast(at.redis, { ttl: 6000, ...QUIET });
    // the first use of a script sends its text
    await (await holdfast.mutex('first').acquire()).release();
    const leases = await Promise.all(names(1000).map((key) => holdfast.mutex(key).acquire()));
    await at.redis.config('RESETSTAT');
    await until(async () => ((await at.calls('hset'))[0] as number) >= 2000, { within: 30_000 });
    const [commands, renewals] = (await at.calls('evalsha', 'hset')) as [number, number];
    expect(commands).toBeLessThanOrEqual(renewals / 100);
    expect(leases.every(({ held }) => held)).toBe(true);
    await holdfast.close({ grace: 0 });
  });
});
