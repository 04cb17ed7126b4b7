/** Members that are killed, frozen and started again, and a lost majority. */
import { Holdfast } from 'holdfast';
import { type EtcdMember, paced, startEtcd, until } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import { etcd } from '../../src/index.js';
import { onCluster } from '../support.js';

type Two = [Holdfast, Holdfast];

/** The place of the leader. */
async function leaderOf(endpoints: readonly string[]): Promise<number> {
  return until(async () => {
    const leaders = await Promise.all(
      endpoints.map(async (endpoint) => {
        const init = { method: 'POST', body: '{}' };
        const response = await fetch(`${endpoint}/v3/maintenance/status`, init).catch(() => null);
        const status = (await response?.json()) as
          | { header: { member_id: string }; leader?: string }
          | undefined;
        return status?.leader !== undefined && status.leader === status.header.member_id;
      }),
    );
    return leaders.includes(true) ? { at: leaders.indexOf(true) } : undefined;
  }).then(({ at }) => at);
}

/** Repeats a call that may have no answer while members change. */
async function patiently<T>(call: () => Promise<T>): Promise<T> {
  return until(
    async () => {
      try {
        return { value: await call() };
      } catch (error) {
        expect((error as { code: string }).code).toMatch(/UNCERTAIN|UNREACHABLE|TIMEOUT/);
        return undefined;
      }
    },
    { within: 30_000 },
  ).then(({ value }) => value);
}

describe('a cluster of three', () => {
  const test = onCluster({ members: 3 });
  const terms = { ttl: 30_000, requestTimeout: 3000, claimWindow: 3000 };

  it.each([
    ['the leader is killed', 'kill'],
    ['the leader is frozen', 'freeze'],
    ['another member is killed', 'kill'],
    ['another member is frozen', 'freeze'],
  ] as const)(
    '%s: leases stay, and waiters get their locks',
    async (which, how) => {
      const { endpoints, members } = test.cluster;
      const leader = await leaderOf(endpoints);
      const at = which.includes('leader') ? leader : (leader + 1) % 3;
      const member = members[at] as EtcdMember;
      const [a, b] = [test.instance(terms), test.instance(terms)] as Two;
      const key = `${which}`;
      const lease = await patiently(() => a.mutex(key).acquire());
      const waiting = b.mutex(key).acquire();
      await until(() => b.stats().pushes, { within: 20_000 });
      await member[how]();
      try {
        expect(await patiently(() => lease.extend(20_000))).toBeGreaterThan(10_000);
        expect(await patiently(() => b.mutex(key).tryAcquire())).toBeNull();
        expect(lease.held).toBe(true);
        await patiently(() => lease.release());
        const next = await waiting;
        expect(next.fence).toBeGreaterThan(lease.fence);
        await patiently(() => next.release());
        // a new process starts without that member
        await patiently(() =>
          test
            .instance(terms)
            .mutex(key)
            .run(() => undefined),
        );
      } finally {
        if (how === 'kill') await member.restart();
        else member.resume();
      }
    },
    120_000,
  );

  it('a lost majority is an outage and not a refusal, and passes', {
    timeout: paced(120_000),
  }, async () => {
    const { members } = test.cluster;
    const short = { ttl: 60_000, requestTimeout: 1000, unreachableAfter: 2000 };
    const holdfast = test.instance(short, { timeout: 1000 });
    const lease = await patiently(() => holdfast.mutex('majority').acquire());
    const lost = members.slice(0, 2);
    await Promise.all(lost.map((one) => one.kill()));
    await expect(holdfast.mutex('other').acquire()).rejects.toMatchObject({
      code: 'HOLDFAST_UNREACHABLE',
    });
    await Promise.all(lost.map((one) => one.restart()));
    expect(await patiently(() => lease.extend(40_000))).toBeGreaterThan(30_000);
    await patiently(() => lease.release());
  });
});

describe('one member', () => {
  it('that is killed and started again keeps the lease', { timeout: paced(60_000) }, async () => {
    await using cluster = await startEtcd({ fsync: true });
    const settings = { ttl: paced(20_000), requestTimeout: paced(1000) };
    await using a = new Holdfast(etcd(cluster.endpoints), settings);
    await using b = new Holdfast(etcd(cluster.endpoints), settings);
    const lease = await a.mutex('restart').acquire();
    const waiting = b.mutex('restart').acquire();
    await until(() => b.stats().pushes);
    const [member] = cluster.members as [EtcdMember];
    await member.kill();
    await until(() => !b.stats().pushes);
    await member.restart();
    expect(await patiently(() => lease.extend(20_000))).toBeGreaterThan(5000);
    await until(() => b.stats().pushes);
    await lease.release();
    const next = await waiting;
    expect(next.fence).toBeGreaterThan(lease.fence);
    await next.release();
  });

  it('that is gone is an outage and not a refusal', async () => {
    const cluster = await startEtcd();
    const settings = {
      ttl: paced(30_000),
      requestTimeout: paced(2000),
      unreachableAfter: paced(2500),
    };
    const holdfast = new Holdfast(etcd(cluster.endpoints), settings);
    const lease = await holdfast.mutex('gone').acquire();
    await cluster[Symbol.asyncDispose]();
    await expect(holdfast.mutex('other').acquire()).rejects.toMatchObject({
      code: 'HOLDFAST_UNREACHABLE',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    await expect(lease.release()).rejects.toMatchObject({ code: 'HOLDFAST_UNCERTAIN' });
    await holdfast.close({ grace: 0 });
  });
});
