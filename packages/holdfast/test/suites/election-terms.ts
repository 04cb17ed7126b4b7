/** Terms: one at a time, and how a term ends. */
import { expect, it } from 'vitest';
import type { Backend } from '../support/backends.js';
import { PATIENT, Reigns } from './election-reigns.js';
import { aborted, freshKey, queued } from './helpers.js';

export function electionTerms(backend: Backend): void {
  it('is exclusive, in the order of candidature, each with a greater number', async () => {
    const all = await Promise.all([backend.make(PATIENT), backend.make(PATIENT)]);
    const [one, other] = all;
    const key = freshKey();
    const first = await one.election(key).campaign();
    expect(first).toMatchObject({ key, leads: true });
    const candidates = [];
    for (const [index, from] of [other, one, other].entries()) {
      candidates.push(from.election(key).campaign());
      await queued(one, key, index + 1);
    }
    const reigns = new Reigns();
    let leader = first;
    for (const next of candidates) {
      await reigns.reign(leader.term, leader.resign());
      leader = await next;
      expect(leader.leads).toBe(true);
    }
    await reigns.reign(leader.term, leader.resign());
    expect(reigns).toMatchObject({ most: 1, ascending: true });
    expect(reigns.terms).toHaveLength(4);
  });

  it('control: two leaders without an election are detected', async () => {
    const reigns = new Reigns();
    const end = Promise.resolve();
    await Promise.all([reigns.reign(2, end), reigns.reign(1, end)]);
    expect(reigns).toMatchObject({ most: 2, ascending: false });
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
    const holdfast = await backend.make({ ttl: 300 });
    const key = freshKey();
    const leadership = await holdfast.election(key).campaign();
    const reason = aborted(leadership.signal);
    await holdfast.forceRelease(key);
    expect(await reason).toMatchObject({ code: 'HOLDFAST_LOST' });
    expect(leadership.leads).toBe(false);
    expect(await leadership.resign()).toBe('lost');
  });
}
