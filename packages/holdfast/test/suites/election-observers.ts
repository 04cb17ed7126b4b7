/** Observing the leader. */
import { until } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { Backend } from '../support/backends.js';
import { NO_POLL } from './election-helpers.js';
import { freshKey, queued } from './helpers.js';

export function electionObservers(backend: Backend): void {
  it('reports the leader, and each change', async () => {
    const [one, other] = await Promise.all([
      backend.make({ ...NO_POLL, label: 'one' }),
      backend.make({ ...NO_POLL, label: 'other' }),
    ]);
    const key = freshKey();
    const observer = await backend.make();
    const observed = observer.election(key).observe({ every: 10 });
    expect((await observed.next()).value).toBeNull();
    expect(await observer.election(key).leader()).toBeNull();
    const first = await one.election(key).campaign();
    const { id, term } = first;
    const leader = (await observed.next()).value;
    expect(leader).toMatchObject({ id, term, label: 'one', pid: process.pid });
    expect(await observer.election(key).leader()).toMatchObject({ id, term });
    const waiting = other.election(key, { label: 'own' }).campaign();
    await queued(one, key, 1);
    await first.resign();
    const second = await waiting;
    expect((await observed.next()).value).toMatchObject({ term: second.term, label: 'own' });
    await second.resign();
    expect((await observed.next()).value).toBeNull();
    await observed.return();
    expect((await observed.next()).done).toBe(true);
  });

  it('reports terms of the same object at once', async () => {
    const holdfast = await backend.make(NO_POLL);
    const election = holdfast.election(freshKey());
    // it would not poll again within the test
    const observed = election.observe({ every: 600_000 });
    expect((await observed.next()).value).toBeNull();
    const begun = observed.next();
    const leadership = await election.campaign();
    expect((await begun).value).toMatchObject({ term: leadership.term });
    const ended = observed.next();
    await leadership.resign();
    expect((await ended).value).toBeNull();
    await observed.return();
  });

  it('stops when it is told to', async () => {
    const holdfast = await backend.make();
    const stop = new AbortController();
    const seen: unknown[] = [];
    const watching = (async () => {
      const { signal } = stop;
      const options = { signal, every: 600_000 };
      for await (const leader of holdfast.election(freshKey()).observe(options)) seen.push(leader);
    })();
    await until(() => seen.length === 1);
    stop.abort();
    await watching;
    expect(seen).toEqual([null]);
  });
}
