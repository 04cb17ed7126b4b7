/**
 * What the Redis store leaves behind: every key has an expiry at all times, and no key remains
 * two retentions after its last use (I9). In real time, on real servers.
 */
import { type ServerName, until } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import type { Command } from '../../src/engine/commands.js';
import { asking } from '../support/crowds.js';
import { StoreOnServer } from '../support/store-on-server.js';

const retention = 300;
const ttl = 200;
const more = { retention, ttl, claim: 50 };
const mutex = { ...more, key: 'mutex', capacity: 1 };
const several = { ...more, key: 'several', capacity: 3 };

const steps: readonly Command[] = [
  asking('a', mutex),
  asking('b', mutex),
  asking('c', { ...mutex, queue: false }),
  asking('d', { ...mutex, capacity: 2 }),
  asking('a', several),
  asking('b', { ...several, weight: 3, owner: 'me' }),
  asking('c', several),
  { op: 'renew', key: 'mutex', id: 'a', ttl, retention },
  { op: 'release', key: 'mutex', id: 'a', retention },
  {
    ...{ op: 'turn', key: 'mutex', id: 'a', fence: 5, used: 7, again: 'b', ttl, claim: 5 },
    ...{ handOffs: 3, channel: 'x', token: 't', waited: 4, tasks: 2, patience: 9 },
    ...{ retention, meta: 'é' },
  },
  { op: 'poll', key: 'several', ids: ['b'], patience: 0, retention },
  { op: 'inspect', key: 'several', limit: 10 },
  { op: 'resize', key: 'several', id: 'a', weight: 1, seq: 1, retention },
  { op: 'capacity', key: 'several', from: 3, capacity: 1, retention },
  { op: 'capacity', key: 'mutex', from: 1, capacity: 2, retention },
  { op: 'capacity', key: 'unknown', from: 1, capacity: 2, retention },
  { op: 'forceRelease', key: 'several', id: 'a', retention },
  { op: 'release', key: 'several', id: 'other', retention },
  { op: 'release', key: 'unknown', id: 'other', retention },
  { op: 'release', key: 'mutex', id: 'b', retention },
];

describe.each<ServerName>(['redis', 'valkey'])('on %s', (name) => {
  const at = new StoreOnServer(name, 'f:');

  /** Remaining time to live of every key; -1 for a key without an expiry. */
  async function lives(): Promise<[string, number][]> {
    const keys = await at.redis.keys('*');
    return Promise.all(
      keys.map(async (key) => [key, await at.redis.pttl(key)] as [string, number]),
    );
  }

  it('every key always has an expiry, and expires', async () => {
    for (const step of steps) {
      await Promise.all(at.store.execute([step]));
      const endless = (await lives()).filter(([, life]) => life === -1);
      expect(endless, JSON.stringify(step)).toEqual([]);
      const long = (await lives()).filter(([, life]) => life > 2 * retention + ttl);
      expect(long, JSON.stringify(step)).toEqual([]);
    }
    expect((await lives()).map(([key]) => key).sort()).toContain('f:{several}');
    await until(async () => (await at.redis.dbsize()) === 0, { within: 10_000 });
  });

  it('a record whose expiry an operator removed has one again after the next command', async () => {
    await Promise.all(at.store.execute([asking('a', several)]));
    const [[key]] = (await lives()) as [[string, number]];
    await at.redis.persist(key);
    // the time at which it would have been forgotten has passed
    const from = performance.now();
    await until(() => performance.now() - from > 2 * (retention + ttl));
    await Promise.all(at.store.execute([asking('b', several)]));
    for (const [, life] of await lives()) expect(life).toBeGreaterThan(0);
    await at.redis.flushall();
  });

  it('the record of a held lease outlives the lease by its retention', async () => {
    await Promise.all(at.store.execute([asking('a', { ...mutex, ttl: 5000 })]));
    const [[, life]] = (await lives()) as [[string, number]];
    expect(life).toBeGreaterThan(5000);
    await Promise.all(at.store.execute([{ op: 'release', key: 'mutex', id: 'a', retention }]));
    const [[, rest]] = (await lives()) as [[string, number]];
    expect(rest).toBeGreaterThan(retention / 2);
    expect(rest).toBeLessThanOrEqual(2 * retention);
    await until(async () => (await at.redis.dbsize()) === 0, { within: 10_000 });
  });
});
