/** Leases as text, adopted by another process. On any backend. */
import { paced } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { adopt, adoptLeadership, handOver, toText } from '../../src/handover.js';
import type { MultiLease, RwLease, SemaphoreLease } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { aborted, failure, freshKey, freshKeys, renewedUntil } from './helpers.js';

export function leaseHandover(backend: Backend): void {
  handing(backend);
  ending(backend);
  kinds(backend);
  terms(backend);
  refusing(backend);
}

function handing(backend: Backend): void {
  it('keeps the end that maxHold sets, and no closed instance adopts', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const lease = await one.mutex(freshKey()).acquire({ maxHold: paced(1200), ttl: 60_000 });
    const text = handOver(one, lease);
    const closed = await backend.make();
    await closed.close();
    await failure(adopt(closed, text), 'HOLDFAST_CLOSED');
    const taken = await adopt(other, text);
    expect((await aborted(taken.signal)).message).toContain('maxHold');
  });

  it('hands a lease over: the other process renews and releases it', async () => {
    const [one, other] = [await backend.make({ ttl: paced(2400) }), await backend.make()];
    const key = freshKey();
    const lease = await one.mutex(key).acquire();
    const taken = await adopt(other, handOver(one, lease));
    expect([lease.state, lease.signal.aborted]).toEqual(['released', false]);
    expect(taken).toMatchObject({ key, id: lease.id, fence: lease.fence, held: true });
    await renewedUntil(one, key, paced(3000));
    expect(await one.mutex(key).tryAcquire()).toBeNull();
    expect(await taken.extend(5000)).toBeGreaterThanOrEqual(5000);
    await one.close();
    expect(await taken.release()).toBe('freed');
    const next = await other.mutex(key).acquire();
    expect(next.fence).toBeGreaterThan(taken.fence);
  });

  it('shares a lease: both processes hear of its loss, and each may release it', async () => {
    const [one, other] = [await backend.make({ ttl: paced(900) }), await backend.make()];
    const key = freshKey();
    for (const end of ['forced', 'released'] as const) {
      const lease = await one.mutex(key).acquire();
      const same = await adopt(other, toText(one, lease));
      const signals = end === 'forced' ? [lease.signal, same.signal] : [lease.signal];
      const losses = signals.map((signal) => aborted(signal));
      if (end === 'forced') await other.forceRelease(key);
      else expect(await same.release()).toBe('freed');
      for (const loss of await Promise.all(losses)) expect(loss.code).toBe('HOLDFAST_LOST');
      expect(await lease.release()).toBe('lost');
    }
  });

  it('takes a lease that was handed on inside the process, with its fence', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const first = await one.mutex(key).acquire();
    const second = one.mutex(key).acquire();
    const third = one.mutex(key).acquire();
    await first.release();
    const lease = await second;
    const taken = await adopt(other, toText(one, lease));
    expect([taken.id, taken.fence]).toEqual([lease.id, lease.fence]);
    expect(await taken.release()).toBe('freed');
    void lease.release();
    const next = await third;
    expect(next.fence).toBeGreaterThan(taken.fence);
    await next.release();
  });
}

/** The first process has nothing to free any more. */
function ending(backend: Backend): void {
  it('is not freed by its first process: release, await using, the end of run, close', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const ends: Record<string, (key: string) => Promise<string>> = {
      release: async (key) => {
        const lease = await one.mutex(key).acquire();
        const text = handOver(one, lease);
        expect(await lease.release()).toBe('kept');
        return text;
      },
      'await using': async (key) => {
        await using lease = await one.mutex(key).acquire();
        return handOver(one, lease);
      },
      run: (key) => one.mutex(key).run((lease) => handOver(one, lease)),
      close: async (key) => {
        const text = handOver(one, await one.mutex(key).acquire());
        await one.close();
        return text;
      },
    };
    for (const [how, end] of Object.entries(ends)) {
      const taken = await adopt(other, await end(freshKey()));
      expect(
        (await other.inspect(taken.key))?.holders.map(({ id }) => id),
        how,
      ).toEqual([taken.id]);
      expect(await taken.verify(), how).toBe(true);
      expect(await taken.release(), how).toBe('freed');
    }
  });
}

function kinds(backend: Backend): void {
  it('keeps the kind: read-write lock, semaphore, several keys', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const [a, b, c, d] = freshKeys(4) as [string, string, string, string];
    const write = await one.rwLock(a).write.acquire();
    await write.downgrade();
    expect(await write.tryUpgrade()).toBe(true);
    const taken = await adopt<RwLease>(other, handOver(one, write));
    expect([taken.mode, taken.fence]).toEqual(['write', write.fence]);
    await taken.downgrade();
    expect(await one.rwLock(a).read.tryAcquire()).not.toBeNull();
    const permits = await one.semaphore(b, { permits: 5 }).acquire(4);
    const four = await adopt<SemaphoreLease>(other, handOver(one, permits));
    expect(await four.releasePermits(2)).toBe(2);
    expect(await one.semaphore(b, { permits: 5 }).available()).toBe(3);
    const several = await one.allOf([c, d]).acquire({ ttl: paced(1500) });
    const both = await adopt<MultiLease>(other, handOver(one, several));
    expect([both.keys, both.held]).toEqual([[c, d], true]);
    const lost = aborted(both.signal);
    await one.forceRelease(d);
    expect(await lost).toMatchObject({ key: d });
    await Promise.all([taken.release(), four.release(), both.release()]);
  });
}

/** The term of a leader in another process. Elections are on few backends, leases on all. */
function terms(backend: Backend): void {
  it('hands the term of a leader over: the other process leads, and resigns', async () => {
    const [one, other] = [await backend.make({ ttl: paced(2400) }), await backend.make()];
    const key = freshKey();
    const first = await one.election(key).campaign();
    const next = one.election(key).campaign();
    const text = handOver(one, first);
    expect([first.leads, first.signal.aborted]).toEqual([false, true]);
    const same = await adoptLeadership(other, text);
    expect([same.term, same.id, same.leads]).toEqual([first.term, first.id, true]);
    await renewedUntil(one, key, paced(3000));
    expect(await other.election(key).leader()).toMatchObject({ id: first.id, term: first.term });
    expect([same.leads, await same.verify()]).toEqual([true, true]);
    expect(() => toText(one, first)).toThrow(/was released/);
    await failure(adopt(other, text), 'HOLDFAST_BAD_OPTION');
    expect(await same.resign()).toBe('freed');
    const second = await next;
    expect(second.term).toBeGreaterThan(same.term);
    await failure(adoptLeadership(other, text), 'HOLDFAST_LOST');
    await second.resign();
  });

  it('ends an adopted term when its lease is lost, and when its instance closes', async () => {
    const [one, other, third] = [
      await backend.make({ ttl: paced(900) }),
      await backend.make(),
      await backend.make(),
    ];
    const key = freshKey();
    const taken = await adoptLeadership(other, handOver(one, await one.election(key).campaign()));
    const lost = aborted(taken.signal);
    await one.forceRelease(key);
    expect((await lost).code).toBe('HOLDFAST_LOST');
    expect(taken.leads).toBe(false);
    const again = await adoptLeadership(third, handOver(one, await one.election(key).campaign()));
    await third.close();
    expect(again.signal.aborted).toBe(true);
    await expect.poll(() => one.election(key).leader(), { timeout: 10_000 }).toBeNull();
  });
}

function refusing(backend: Backend): void {
  it('refuses a lease that has ended, an own lease, and other texts', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const lease = await one.mutex(freshKey()).acquire();
    const text = toText(one, lease);
    await failure(adopt(one, text), 'HOLDFAST_BAD_OPTION');
    await lease.release();
    await failure(adopt(other, text), 'HOLDFAST_LOST');
    const bad = ['', '{}', 'null', text.replace('"holdfast":1', '"holdfast":2')];
    for (const one of bad) await failure(adopt(other, one), 'HOLDFAST_BAD_OPTION');
    const written = JSON.parse(text) as { leases: Record<string, unknown>[] };
    const changes = [
      ...['key', 'id', 'owner', 'kind'].map((name) => ({ [name]: undefined })),
      ...['index', 'fence', 'weight', 'ttl', 'changes', 'signals'].map((name) => ({ [name]: '1' })),
      ...[{ fence: 0 }, { weight: 0.5 }, { ttl: -1 }, { ttl: 1e12 }, { index: -1 }, { maxHold: 0 }],
    ];
    const damaged: unknown[] = changes.map((change) => [{ ...written.leases[0], ...change }]);
    for (const leases of [...damaged, [], [null], {}, 'leases']) {
      const changed = JSON.stringify({ ...written, leases });
      await failure(adopt(other, changed), 'HOLDFAST_BAD_OPTION');
    }
    await failure(adopt({} as never, text), 'HOLDFAST_BAD_OPTION');
    await failure(adoptLeadership(other, text), 'HOLDFAST_BAD_OPTION');
    const foreign = await other.mutex(freshKey()).acquire();
    expect(() => toText(one, foreign)).toThrow(/that this instance acquired/);
    expect(() => toText(one, lease)).toThrow(/that this instance|was released/);
  });
}
