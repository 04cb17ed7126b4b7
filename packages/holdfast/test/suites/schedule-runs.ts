/** One run at a time, with a minimum interval between runs. */
import { paced, until } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { RunOnceResult, ScheduledRun } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { aborted, failure, fenceOf, freshKey, later, queued } from './helpers.js';

const LONG = 60_000;
const NO_POLL = { ttl: 600_000, claimWindow: 60_000, retention: 600_000 };

export function scheduleRuns(backend: Backend): void {
  skipping(backend);
  keeping(backend);
  failing(backend);
}

function skipping(backend: Backend): void {
  it('is done by one instance, and the others learn which one', async () => {
    const [one, other] = [await backend.make({ label: 'one' }), await backend.make()];
    const key = freshKey();
    const options = { atLeast: 0 };
    let refused: RunOnceResult<number> | undefined;
    const outcome = await one.schedule(key, options).runOnce(async (run) => {
      expect(run).toMatchObject({ key, slot: undefined, held: true });
      expect(run.remaining).toBeGreaterThan(0);
      refused = await other.schedule(key, options).runOnce(() => 1);
      return `by ${run.fence}`;
    });
    const fence = fenceOf(outcome);
    expect(outcome).toEqual({ ran: true, value: `by ${fence}`, fence });
    expect(refused).toMatchObject({ ran: false, reason: 'busy' });
    expect(refused).toMatchObject({ holder: { label: 'one', fence, pid: process.pid } });
    expect(await other.schedule(key, options).runOnce(() => 2)).toMatchObject({ value: 2 });
  });

  it('waits for another run, if the options say so', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const options = { atLeast: 0 };
    let finish = (): void => undefined;
    const first = one.schedule(key, options).runOnce(
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    );
    await until(async () => (await other.inspect(key)) !== null);
    const busy = await other.schedule(key, options).runOnce(() => 1, { wait: 20 });
    expect(busy).toMatchObject({ ran: false, reason: 'busy' });
    const caller = new AbortController();
    const { signal } = caller;
    const aborting = later(other.schedule(key, options).runOnce(() => 1, { wait: LONG, signal }));
    await queued(one, key, 1);
    caller.abort();
    await failure(aborting, 'HOLDFAST_ABORTED');
    const waiting = other.schedule(key, options).runOnce(() => 2, { wait: LONG });
    await queued(one, key, 1);
    finish();
    const second = await waiting;
    expect(second).toMatchObject({ ran: true, value: 2 });
    expect(fenceOf(second)).toBeGreaterThan(fenceOf(await first));
  });
}

function keeping(backend: Backend): void {
  it('that ends early excludes others', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const options = { atLeast: LONG };
    await one.schedule(key, options).runOnce(() => 1);
    expect(await other.schedule(key, options).runOnce(() => 2)).toMatchObject({ reason: 'busy' });
    expect(await one.schedule(key, options).runOnce(() => 3)).toMatchObject({ reason: 'busy' });
  });

  it('that ends early excludes others until its minimum time is over, and no longer', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    const options = { atLeast: 100 };
    const before = performance.now();
    await one.schedule(key, options).runOnce(() => 1);
    // the next run waits neither for a ttl nor for a poll
    const start = (): number => performance.now();
    const next = await other.schedule(key, options).runOnce(start, { wait: LONG });
    // the first run was granted later than `before`; timers and clocks differ by less than 1 ms
    expect(next.ran ? next.value - before : 0).toBeGreaterThanOrEqual(99);
  });

  it('excludes others also when its instance was closed', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const options = { atLeast: LONG, ttl: paced(100) };
    await one.schedule(key, options).runOnce(() => 1);
    const start = await other.inspect(key);
    await one.close();
    expect(await other.schedule(key, options).runOnce(() => 2)).toMatchObject({ reason: 'busy' });
    const info = await other.inspect(key);
    expect(info?.holders[0]?.id).toBe(start?.holders[0]?.id);
    // the lease expires at the end of the minimum time
    const { remaining, heldFor } = info?.holders[0] ?? { remaining: 0, heldFor: 0 };
    expect(remaining + heldFor).toBeGreaterThanOrEqual(LONG);
  });

  it('excludes others also when its instance was closed during the run', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const options = { atLeast: LONG };
    let begun = false;
    const work = ({ signal }: ScheduledRun): Promise<unknown> => {
      begun = true;
      return aborted(signal);
    };
    const running = later(one.schedule(key, options).runOnce(work));
    await until(() => begun);
    await one.close({ grace: 0 });
    expect((await failure(running, 'HOLDFAST_LOST')).message).toContain('closed');
    expect(await other.schedule(key, options).runOnce(() => 2)).toMatchObject({ reason: 'busy' });
  });
}

function failing(backend: Backend): void {
  it.each(['keep', 'release'] as const)(
    'with `afterFailure: %s` and failed work',
    async (afterFailure) => {
      const [one, other] = [await backend.make(), await backend.make()];
      const key = freshKey();
      const options = { atLeast: LONG, afterFailure };
      const own = new Error('own');
      const work = (): never => {
        throw own;
      };
      const slot = 'slot';
      const error = await one
        .schedule(key, options)
        .runOnce(work, { slot })
        .catch((reason: unknown) => reason);
      expect(error).toBe(own);
      const next = await other.schedule(key, options).runOnce(() => 1, { slot });
      const unslotted = await other.schedule(`${key} 2`, options).runOnce(() => 1);
      expect(next.ran).toBe(afterFailure === 'release');
      expect(unslotted.ran).toBe(true);
    },
  );

  it('that lost its lock rejects with HOLDFAST_LOST', async () => {
    const [one, other] = [await backend.make({ ttl: paced(900) }), await backend.make()];
    const key = freshKey();
    const work = async ({ signal }: ScheduledRun): Promise<void> => {
      await other.forceRelease(key);
      await aborted(signal);
    };
    const running = one.schedule(key, { atLeast: 0 }).runOnce(work);
    await failure(running, 'HOLDFAST_LOST');
  });

  it('that reaches its maximum time loses its lock', async () => {
    const [one, other] = [await backend.make({ ttl: LONG }), await backend.make()];
    const key = freshKey();
    const hangs = later(
      one
        .schedule(key, { atLeast: 0, atMost: paced(500) })
        .runOnce(({ signal }) => aborted(signal)),
    );
    expect((await failure(hangs, 'HOLDFAST_LOST')).message).toContain('maxHold');
    const options = { atLeast: 0 };
    const next = await other.schedule(key, options).runOnce(() => 1, { wait: LONG });
    expect(next.ran).toBe(true);
  });
}
