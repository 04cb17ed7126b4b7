/** The `wait` of a lock is the default of `acquire` and `run`, and not of `tryAcquire`. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Holdfast, memory } from '../../src/index.js';
import { failure } from '../suites/helpers.js';

let holdfast: Holdfast;
beforeEach(async () => {
  holdfast = new Holdfast(memory());
  await holdfast.mutex('busy').acquire();
  await holdfast.semaphore('permits', { permits: 1 }).acquire();
  await holdfast.rwLock('rw').write.acquire();
});
afterEach(() => holdfast.close({ grace: 0 }));

const WAIT = { wait: 20 };

describe.each([
  ['mutex', () => holdfast.mutex('busy', WAIT)],
  ['semaphore', () => holdfast.semaphore('permits', { permits: 1, ...WAIT })],
  ['readers', () => holdfast.rwLock('rw', WAIT).read],
  ['allOf', () => holdfast.allOf(['free', 'busy'], WAIT)],
] as const)('%s', (_, lock) => {
  it('rejects after the wait of the lock', async () => {
    await failure(lock().acquire(), 'HOLDFAST_TIMEOUT');
    await failure(
      lock().run(() => undefined),
      'HOLDFAST_TIMEOUT',
    );
  });

  it('does not wait in tryAcquire, which has its own limit', async () => {
    const long = { wait: 60_000 };
    const patient =
      _ === 'mutex' ? holdfast.mutex('busy', long) : holdfast.allOf(['free', 'busy'], long);
    expect(await patient.tryAcquire()).toBeNull();
    expect(await patient.tryAcquire({ wait: 1 })).toBeNull();
  });
});

it('the option of a call takes precedence', async () => {
  const mutex = holdfast.mutex('busy', { wait: 60_000 });
  await failure(mutex.acquire({ wait: 1 }), 'HOLDFAST_TIMEOUT');
});

it('the wait of a mutex does not count in allOf', async () => {
  const all = holdfast.allOf([holdfast.mutex('busy', { wait: 60_000 }), 'free']);
  await failure(all.acquire({ wait: 1 }), 'HOLDFAST_TIMEOUT');
  expect(await all.tryAcquire()).toBeNull();
});

describe('the maxHold of an instance', () => {
  const limited = (): Holdfast => new Holdfast(memory(), { maxHold: 5000 });

  it('applies to the leases that are renewed, and to no others', async () => {
    const one = limited();
    const ends = async (lease: Promise<{ extend(ms: number): Promise<number> }>) => {
      const extending = (await lease).extend(20_000);
      return extending.then(
        () => 'no',
        (error: Error) => (error.message.includes('maxHold') ? 'maxHold' : error.message),
      );
    };
    expect(await ends(one.mutex('a').acquire())).toBe('maxHold');
    expect(await ends(one.mutex('b').acquire({ renew: false }))).toBe('no');
    expect(await ends(one.mutex('c', { renew: false }).acquire({ renew: true }))).toBe('maxHold');
    expect(await ends(one.rwLock('d').read.acquire({ renew: false }))).toBe('no');
    const semaphore = one.semaphore('e', { permits: 2 });
    expect(await ends(semaphore.acquire(1, { renew: false }))).toBe('no');
    expect(await ends(semaphore.acquire(1))).toBe('maxHold');
    const both = await one.allOf(['f', 'g']).acquire({ renew: false });
    expect(both.held).toBe(true);
    // that of a lock still contradicts a call
    const own = one.mutex('h', { maxHold: 1000 }).acquire({ renew: false });
    expect((await failure(own, 'HOLDFAST_BAD_OPTION')).option).toBe('maxHold');
    await one.close({ grace: 0 });
  });
});
