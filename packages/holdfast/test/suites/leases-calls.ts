/** Abort signals of calls, the signal of `run`, and the end of renewal. On any backend. */
import { paced } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { Lease, MultiLease } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { aborted, failure, freshKey, freshKeys, unused } from './helpers.js';

export function leaseCalls(backend: Backend): void {
  signals(backend);
  calls(backend);
}

function signals(backend: Backend): void {
  it('the signal of `run` aborts lease.signal, and the lock stays held', async () => {
    const holdfast = await backend.make();
    const [a, b] = freshKeys(2) as [string, string];
    const work = async (lease: Lease | MultiLease): Promise<unknown> => {
      const { signal } = lease;
      const reason = aborted(signal);
      let same = false;
      signal.addEventListener('abort', () => (same = lease.signal === signal));
      stop.abort(new Error('enough'));
      return [(await reason).message, lease.held, same];
    };
    let stop = new AbortController();
    const runs = [
      () => holdfast.mutex(a).run(work, { signal: stop.signal }),
      () => holdfast.mutex(a, { reentrant: true }).run(work, { signal: stop.signal }),
      () => holdfast.rwLock(b).read.run(work, { signal: stop.signal }),
      () => holdfast.semaphore(b, { permits: 2 }).run(work, { signal: stop.signal }),
      () => holdfast.allOf([a, b]).run(work, { signal: stop.signal }),
    ];
    for (const run of runs) {
      expect(await run()).toEqual(['enough', true, true]);
      stop = new AbortController();
      await unused(holdfast, a);
      await unused(holdfast, b);
    }
  });

  it('a loss after that is still reported as a loss', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    const stop = new AbortController();
    const running = holdfast.mutex(key).run(
      async (lease) => {
        stop.abort(new Error('enough'));
        await holdfast.forceRelease(key);
        expect(lease.signal.reason).toMatchObject({ message: 'enough' });
      },
      { signal: stop.signal },
    );
    expect(await failure(running, 'HOLDFAST_LOST')).toMatchObject({ key });
  });

  it('an abort after the work has no effect', async () => {
    const holdfast = await backend.make();
    const stop = new AbortController();
    const options = { signal: stop.signal };
    const lease = await holdfast.mutex(freshKey()).run((one) => one, options);
    stop.abort();
    expect(lease.signal.aborted).toBe(false);
    await failure(
      holdfast.mutex(freshKey()).run(() => 0, options),
      'HOLDFAST_ABORTED',
    );
  });
}

function calls(backend: Backend): void {
  it('an abort ends the wait of release, extend, ensure and inspect', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    const lease = await holdfast.mutex(key).acquire();
    const signal = AbortSignal.abort('enough');
    const calls = [
      () => lease.extend(20_000, { signal }),
      () => lease.ensure(20_000, { signal }),
      () => holdfast.inspect(key, { signal }),
      () => lease.release({ signal }),
    ];
    for (const call of calls) {
      expect(await failure(call(), 'HOLDFAST_ABORTED')).toMatchObject({ key });
    }
    // the release goes on
    await unused(holdfast, key);
    expect(await lease.release({ signal: new AbortController().signal })).toBe('freed');
    const wrong = { signal: 7 as unknown as AbortSignal };
    await failure(holdfast.inspect(key, wrong), 'HOLDFAST_BAD_OPTION');
    await failure(lease.extend(7, { wait: 7 } as object), 'HOLDFAST_BAD_OPTION');
  });

  it('an answer in time wins over a later abort', async () => {
    const holdfast = await backend.make();
    const lease = await holdfast.mutex(freshKey()).acquire();
    const stop = new AbortController();
    expect(await lease.extend(20_000, { signal: stop.signal })).toBeGreaterThanOrEqual(20_000);
    stop.abort();
    expect(lease.held).toBe(true);
    expect(await lease.release()).toBe('freed');
  });

  it('stopRenewal lets the lease end, and extend still extends it', async () => {
    const [one, other] = [await backend.make({ ttl: paced(900) }), await backend.make()];
    const key = freshKey();
    const lease = await one.mutex(key).acquire();
    lease.stopRenewal();
    await lease.extend(paced(1200));
    const waiting = other.mutex(key).acquire();
    expect(await aborted(lease.signal)).toMatchObject({ code: 'HOLDFAST_LOST' });
    expect((await waiting).held).toBe(true);
    expect(await lease.release()).toBe('lost');
    lease.stopRenewal();
  });
}
