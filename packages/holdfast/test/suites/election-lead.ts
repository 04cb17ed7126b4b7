/** Leading repeatedly. */
import { paced } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { Holdfast, Leadership } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { NO_POLL, TermWatch } from './election-helpers.js';
import { aborted, freshKey, unused } from './helpers.js';

export function electionLead(backend: Backend): void {
  it('alternates between candidates that lead for a while', async () => {
    const all = await Promise.all([backend.make(NO_POLL), backend.make(NO_POLL)]);
    const key = freshKey();
    const termWatch = new TermWatch();
    const stop = new AbortController();
    const led = new Map<Holdfast, number>();
    const ends = all.map((one) => {
      const work = async ({ term }: Leadership): Promise<void> => {
        led.set(one, (led.get(one) ?? 0) + 1);
        await termWatch.lead(term, Promise.resolve());
        if (all.every((each) => (led.get(each) ?? 0) > 2)) stop.abort();
      };
      return one.election(key).lead(work, { signal: stop.signal, pause: 1 });
    });
    await Promise.all(ends);
    expect(termWatch).toMatchObject({ most: 1, ascending: true });
    await unused(all[0], key);
  });

  it('rejects with the error of the work, and resigns', async () => {
    const holdfast = await backend.make(NO_POLL);
    const key = freshKey();
    const own = new Error('own');
    const work = (): never => {
      throw own;
    };
    const error = await holdfast
      .election(key)
      .lead(work)
      .catch((reason: unknown) => reason);
    expect(error).toBe(own);
    expect(await holdfast.inspect(key)).toBeNull();
  });

  it('continues after a lost term, with a greater term', async () => {
    const holdfast = await backend.make({ ttl: paced(900) });
    const key = freshKey();
    const stop = new AbortController();
    const seen: number[] = [];
    const work = async (leadership: Leadership): Promise<void> => {
      seen.push(leadership.term);
      if (seen.length === 1) await holdfast.forceRelease(key);
      else stop.abort();
      await aborted(leadership.signal);
    };
    await holdfast.election(key).lead(work, { signal: stop.signal, pause: 1 });
    expect(seen).toHaveLength(2);
    expect(seen[1]).toBeGreaterThan(seen[0] as number);
  });
}
