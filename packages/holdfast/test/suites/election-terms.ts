/** Terms: one at a time, and how a term ends. */
import { paced } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { Backend } from '../support/backends.js';
import { NO_POLL, TermWatch } from './election-helpers.js';
import { aborted, freshKey, queued } from './helpers.js';

export function electionTerms(backend: Backend): void {
  it('is exclusive, in the order of candidature, each with a greater number', async () => {
    const all = await Promise.all([backend.make(NO_POLL), backend.make(NO_POLL)]);
    const [one, other] = all;
    const key = freshKey();
    const first = await one.election(key).campaign();
    expect(first).toMatchObject({ key, leads: true });
    const candidates = [];
    for (const [index, from] of [other, one, other].entries()) {
      candidates.push(from.election(key).campaign());
      await queued(one, key, index + 1);
    }
    const termWatch = new TermWatch();
    let leader = first;
    for (const next of candidates) {
      await termWatch.lead(leader.term, leader.resign());
      leader = await next;
      expect(leader.leads).toBe(true);
    }
    await termWatch.lead(leader.term, leader.resign());
    expect(termWatch).toMatchObject({ most: 1, ascending: true });
    expect(termWatch.terms).toHaveLength(4);
  });

  it('control: two leaders without an election are detected', async () => {
    const termWatch = new TermWatch();
    const end = Promise.resolve();
    await Promise.all([termWatch.lead(2, end), termWatch.lead(1, end)]);
    expect(termWatch).toMatchObject({ most: 2, ascending: false });
  });

  it('ends with its resignation, and aborts its signal', async () => {
    const holdfast = await backend.make();
    const leadership = await holdfast.election(freshKey()).campaign();
    expect(leadership.signal.aborted).toBe(false);
    expect(await leadership.resign()).toBe('freed');
    expect(leadership.leads).toBe(false);
    expect(leadership.signal.reason).toMatchObject({ name: 'AbortError' });
    expect(await leadership.resign()).toBe('freed');
  });

  it('ends with an `await using` block', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    {
      await using leadership = await holdfast.election(key).campaign();
      expect(leadership.leads).toBe(true);
    }
    expect(await holdfast.inspect(key)).toBeNull();
  });

  it('that is ended by force ends with the reason', async () => {
    const holdfast = await backend.make({ ttl: paced(900) });
    const key = freshKey();
    const leadership = await holdfast.election(key).campaign();
    const reason = aborted(leadership.signal);
    await holdfast.forceRelease(key);
    expect(await reason).toMatchObject({ code: 'HOLDFAST_LOST' });
    expect(leadership.leads).toBe(false);
    expect(await leadership.resign()).toBe('lost');
  });
}
