/** Several locks that are not granted in the end: whatever was granted is given back. */
import { expect, it } from 'vitest';
import type { Holdfast, MultiLease } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { failure, freshKeys, later, queued, unused } from './helpers.js';

/** One that waits for the middle one of three keys, with the first of them held. */
interface Stuck {
  readonly one: Holdfast;
  readonly other: Holdfast;
  readonly keys: [string, string, string];
  readonly waiting: Promise<MultiLease>;
  readonly stop: AbortController;
  /** Frees the middle one, and sees that nobody else has anything. */
  readonly end: () => Promise<void>;
}

async function stuck(
  backend: Backend,
  { wait = Number.POSITIVE_INFINITY, ttl = 10_000 } = {},
): Promise<Stuck> {
  const [one, other] = [await backend.make({ ttl }), await backend.make()];
  const keys = freshKeys(3) as [string, string, string];
  const single = await other.mutex(keys[1]).acquire();
  const stop = new AbortController();
  const waiting = later(one.allOf(keys).acquire({ signal: stop.signal, wait }));
  if (wait > 1000) await queued(other, keys[1], 1);
  const end = async (): Promise<void> => {
    await unused(other, keys[0]);
    await unused(other, keys[2]);
    await queued(other, keys[1], 0);
    expect(await single.release()).toBe('freed');
  };
  return { one, other, keys, waiting, stop, end };
}

export function allOfGivingUp(backend: Backend): void {
  stopped(backend);
  failing(backend);
}

function stopped(backend: Backend): void {
  it('at the wait limit says which one was waited for', async () => {
    const { waiting, keys, end } = await stuck(backend, { wait: 40 });
    const error = await failure(waiting, 'HOLDFAST_TIMEOUT');
    expect(error.key).toBe(keys[1]);
    expect(error.message).toContain('3 keys were not granted within 40 ms');
    await end();
  });

  it('when the caller aborts', async () => {
    const { waiting, stop, end } = await stuck(backend);
    stop.abort('enough');
    expect((await failure(waiting, 'HOLDFAST_ABORTED')).cause).toBe('enough');
    await end();
  });

  it('asks for nothing when the caller aborted before', async () => {
    const holdfast = await backend.make();
    const keys = freshKeys(2);
    const asking = holdfast.allOf(keys).acquire({ signal: AbortSignal.abort('before') });
    expect((await failure(asking, 'HOLDFAST_ABORTED')).cause).toBe('before');
    for (const key of keys) expect(await holdfast.inspect(key)).toBeNull();
  });
}

function failing(backend: Backend): void {
  it('when one that is held already is lost', async () => {
    // it hears of it at its next renewal
    const { other, keys, waiting, end } = await stuck(backend, { ttl: 600 });
    expect(await other.forceRelease(keys[0])).toBe(1);
    const error = await failure(waiting, 'HOLDFAST_LOST');
    expect(error.key).toBe(keys[0]);
    await end();
  });

  it('when one that is not renewed ends before the last is granted', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const keys = freshKeys(2) as [string, string];
    await using single = await other.mutex(keys[1]).acquire();
    const asking = one.allOf(keys).acquire({ ttl: 80, renew: false });
    const error = await failure(asking, 'HOLDFAST_LOST');
    expect(error.key).toBe(keys[0]);
    await unused(other, keys[0]);
    expect(single.held).toBe(true);
  });

  it('when the instance closes', async () => {
    const { one, waiting, end } = await stuck(backend);
    await one.close({ grace: 0 });
    // the waiting ends as closed, unless the loss of the first is noticed before
    const error = await waiting.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: expect.stringMatching(/HOLDFAST_(CLOSED|LOST)/) });
    await end();
  });

  it('when one is refused: its queue is full', async () => {
    const { other, keys, stop, waiting, end } = await stuck(backend);
    const narrow = await backend.make({ maxQueue: 1 });
    const error = await failure(narrow.allOf(keys.slice(1)).acquire(), 'HOLDFAST_REFUSED');
    expect(error.key).toBe(keys[1]);
    await unused(other, keys[2]);
    stop.abort();
    await failure(waiting, 'HOLDFAST_ABORTED');
    await end();
  });
}
