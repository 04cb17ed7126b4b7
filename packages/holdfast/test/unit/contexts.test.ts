/** Callbacks that no task called run in no task's asynchronous context. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { currentLease, Holdfast, type Lease, memory } from '../../src/index.js';

const task = new AsyncLocalStorage<string>();
let seen: string[] = [];
let callbacks: Promise<unknown>[] = [];
let inside = 0;
let most = 0;
let holdfast: Holdfast;

async function work(until: Promise<unknown>): Promise<void> {
  inside += 1;
  most = Math.max(most, inside);
  await until;
  inside -= 1;
}

function see(callback: string): void {
  seen.push(`${callback} in ${task.getStore()}, holds ${currentLease()?.key}`);
}

const outside = (callback: string): string => `${callback} in undefined, holds undefined`;

const enter = (until: Promise<unknown>, longHold?: number): Promise<void> =>
  holdfast.mutex('k', { reentrant: true, longHold }).run(() => work(until));

beforeEach(() => {
  [seen, callbacks, inside, most] = [[], [], 0, 0];
  holdfast = new Holdfast(memory(), {
    onLost: () => {
      see('onLost');
      callbacks.push(enter(Promise.resolve()).catch(() => undefined));
    },
    onWarning: () => see('onWarning'),
  });
});
afterEach(() => holdfast.close({ grace: 0 }));

/** Holds `k`, and has set the timer of all leases. */
function holder(until: Promise<unknown>): Promise<void> {
  return task.run('the holder', () =>
    enter(
      holdfast
        .mutex('other')
        .acquire()
        .then(() => until),
    ),
  );
}

it('the loss of another lease does not enter the mutex of a task', async () => {
  let lose = (): void => undefined;
  const lost = new Promise<void>((resolve) => {
    lose = resolve;
  });
  const holds = holder(lost.then(() => sleep(5)));
  const lease = await holdfast.mutex('foo').acquire({ ttl: 100, renew: false });
  lease.signal.addEventListener('abort', () => {
    see('abort');
    lose();
  });
  await holds;
  await Promise.all(callbacks);
  expect(seen).toEqual(['abort', 'onLost'].map(outside));
  expect(most).toBe(1);
});

it('nor does the warning before a loss', async () => {
  let lease: Lease | undefined;
  await holder(
    new Promise<void>((resolve) => {
      const onExpiring = (): void => {
        see('onExpiring');
        resolve();
      };
      const terms = { ttl: 60_000, renew: false, expiringBefore: 59_950, onExpiring };
      void holdfast
        .mutex('foo')
        .acquire(terms)
        .then((one) => {
          lease = one;
        });
    }),
  );
  expect(seen).toContain(outside('onExpiring'));
  await lease?.release();
});

it('nor does a loss that a call of the task itself causes', async () => {
  const lease = await holdfast.mutex('foo').acquire();
  lease.signal.addEventListener('abort', () => see('abort'));
  await task.run('the holder', () =>
    holdfast.mutex('k', { reentrant: true }).run(async () => {
      await holdfast.forceRelease('foo');
      await work(sleep(5));
    }),
  );
  await Promise.all(callbacks);
  expect(seen).toEqual(['abort', 'onLost'].map(outside));
  expect(most).toBe(1);
});

it('nor does a warning', async () => {
  await task.run('the holder', () => enter(sleep(5), 1));
  await expect.poll(() => seen).toContain(outside('onWarning'));
  expect(new Set(seen).size).toBe(1);
});
