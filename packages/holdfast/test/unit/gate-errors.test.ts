/** What the errors of latches and barriers say. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Holdfast, memory } from '../../src/index.js';
import { failure, later } from '../suites/helpers.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

describe('HOLDFAST_MISMATCH', () => {
  const holdfast = new Holdfast(memory());
  beforeAll(() => holdfast.latch('latch', { count: 2 }).countDown());

  const asked: [call: () => Promise<unknown>, option: string, text: string][] = [
    [
      () => holdfast.latch('latch', { count: 5 }).await({ wait: 0 }),
      'count',
      'a latch (count 2), and was requested as a latch (count 5)',
    ],
    [
      () => holdfast.latch('latch', { count: 5 }).count(),
      'count',
      'a latch (count 2), and was requested as a latch (count 5)',
    ],
    [
      () => holdfast.barrier('latch', { parties: 7 }).await({ wait: 0 }),
      'parties',
      'a latch (count 2), and was requested as a barrier (parties 7)',
    ],
    [
      () => holdfast.barrier('latch', { parties: 1 }).waiting(),
      'parties',
      'a latch (count 2), and was requested as a barrier (parties 1)',
    ],
  ];

  it.each(asked)('names both and the requested option (%#)', async (call, option, text) => {
    const error = await failure(call(), 'HOLDFAST_MISMATCH');
    expect(error.message).toContain(`"latch" is in use as ${text} (see`);
    expect(error.option).toBe(option);
  });
});

describe('a silent store', () => {
  let clock: VirtualClock;
  let store: WatchedStore;
  let holdfast: Holdfast;
  beforeEach(() => {
    clock = new VirtualClock();
    store = new WatchedStore(clock);
    holdfast = new Holdfast(store, { clock });
  });

  /** The error of a call whose requests get no answer. */
  async function silent(call: () => Promise<unknown>, code: 'UNREACHABLE' | 'UNCERTAIN') {
    const called = later(call());
    await clock.advance(20_000);
    return (await failure(called, `HOLDFAST_${code}`)).message;
  }

  it('is UNREACHABLE for a call that changed nothing, and says so once', async () => {
    const latch = holdfast.latch('k', { count: 2 });
    const barrier = holdfast.barrier('b', { parties: 2 });
    store.fate = () => 'lost';
    const calls = [
      ...[() => latch.count(), () => latch.countDown(), () => latch.reset(), () => latch.delete()],
      ...[() => barrier.waiting(), () => barrier.reset(), () => barrier.await()],
    ];
    for (const call of calls) {
      const text = await silent(call, 'UNREACHABLE');
      expect(text.split('did not answer')).toHaveLength(2);
    }
  });

  it.each([
    ['reset', 'it may have been reset'],
    ['delete', 'it may have been deleted'],
  ] as const)('is UNCERTAIN for a %s that was sent', async (call, text) => {
    const latch = holdfast.latch('k', { count: 2 });
    await latch.countDown();
    store.ail('endGeneration', 'answer lost');
    expect(await silent(() => latch[call](), 'UNCERTAIN')).toContain(text);
  });
});
