/** Candidates and leaders that stop: by themselves, or because their `Holdfast` closes. */
import { until } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { Leadership } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { NO_POLL } from './election-helpers.js';
import { aborted, failure, freshKey, later, queued, unused } from './helpers.js';

export function electionEnds(backend: Backend): void {
  stopping(backend);
  closing(backend);
}

function stopping(backend: Backend): void {
  it('skips a candidate that cancelled', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    const leadership = await holdfast.election(key).campaign();
    await failure(holdfast.election(key).campaign({ wait: 20 }), 'HOLDFAST_TIMEOUT');
    const caller = new AbortController();
    const waiting = later(holdfast.election(key).campaign({ signal: caller.signal }));
    await queued(holdfast, key, 1);
    caller.abort();
    await failure(waiting, 'HOLDFAST_ABORTED');
    await queued(holdfast, key, 0);
    await leadership.resign();
    await unused(holdfast, key);
  });

  it('stops when it is told to, after the work has ended', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    const stop = new AbortController();
    const events: string[] = [];
    const work = async (leadership: Leadership): Promise<void> => {
      events.push('leads');
      await aborted(leadership.signal);
      events.push(`told: ${String(leadership.signal.reason)}`);
      // until now no other candidate leads
      events.push(`kept: ${(await other.election(key).leader())?.id === leadership.id}`);
      throw leadership.signal.reason;
    };
    const leads = one.election(key).lead(work, { signal: stop.signal });
    await until(() => events.length === 1);
    const next = other.election(key).campaign();
    await queued(other, key, 1);
    stop.abort('enough');
    await leads;
    expect((await next).leads).toBe(true);
    expect(events).toEqual(['leads', 'told: enough', 'kept: true']);
  });

  it('stops while it is a candidate', async () => {
    const holdfast = await backend.make(NO_POLL);
    const key = freshKey();
    await using _leadership = await holdfast.election(key).campaign();
    const stop = new AbortController();
    let ran = false;
    const work = (): void => {
      ran = true;
    };
    const leads = holdfast.election(key).lead(work, { signal: stop.signal });
    await queued(holdfast, key, 1);
    stop.abort();
    await leads;
    await queued(holdfast, key, 0);
    await holdfast.election(key).lead(work, { signal: stop.signal });
    expect(ran).toBe(false);
  });
}

function closing(backend: Backend): void {
  it('hands over to a candidate at once: no ttl, no grace, no poll', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    const leadership = await one.election(key).campaign();
    const next = other.election(key).campaign();
    await queued(other, key, 1);
    const reason = aborted(leadership.signal);
    // `close` waits for another lease, but the candidate does not wait for it
    const lease = await one.mutex(freshKey()).acquire();
    const closed = one.close({ grace: 600_000 });
    expect(await reason).toMatchObject({ code: 'HOLDFAST_CLOSED' });
    expect(leadership.leads).toBe(false);
    expect((await next).term).toBeGreaterThan(leadership.term);
    await lease.release();
    await closed;
  });

  it('aborts the work of `lead`, and waits until it has ended', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let term: Leadership | undefined;
    const leads = one.election(key).lead(async (leadership) => {
      term = leadership;
      await finished;
    });
    const leadership = await until(() => term);
    const next = other.election(key).campaign();
    await queued(other, key, 1);
    const reason = aborted(leadership.signal);
    const closed = one.close({ grace: 60_000 });
    expect(await reason).toMatchObject({ code: 'HOLDFAST_CLOSED' });
    expect((await other.election(key).leader())?.id).toBe(leadership.id);
    finish();
    expect((await next).leads).toBe(true);
    await Promise.all([leads, closed]);
  });

  it('stops candidates and observers', async () => {
    const [one, other] = [await backend.make(NO_POLL), await backend.make(NO_POLL)];
    const key = freshKey();
    await using _leadership = await one.election(key).campaign();
    const leads = other.election(key).lead(() => undefined);
    const observed = other.election(key).observe({ every: 60_000 });
    expect((await observed.next()).value).not.toBeNull();
    const next = observed.next();
    await queued(one, key, 1);
    await other.close();
    await leads;
    expect(await next).toEqual({ done: true, value: undefined });
    await failure(other.election(key).campaign(), 'HOLDFAST_CLOSED');
  });
}
