/** The embedded store: the engine, its listeners, and how keys are forgotten. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Command, Push } from '../../../src/engine/commands.js';
import { matchingKeys } from '../../../src/store/glob.js';
import { MemoryStore } from '../../../src/store/memory/memory-store.js';
import { asking } from '../../support/crowds.js';
import { VirtualClock } from '../../support/virtual-clock.js';

let clock: VirtualClock;
let store: MemoryStore;

beforeEach(() => {
  clock = new VirtualClock();
  store = new MemoryStore(clock);
});

const listener = (push: (push: Push) => void): Parameters<MemoryStore['listen']>[1] => ({
  push,
  up: () => undefined,
  down: () => undefined,
});

async function keys(pattern: string): Promise<string[]> {
  const found: string[] = [];
  for await (const key of matchingKeys(store, pattern, (page) => page)) found.push(key);
  return found.sort();
}

/** Ignores the replies. */
function give(...commands: Command[]): void {
  void Promise.all(store.execute(commands));
}

const mutex = { key: 'k', capacity: 1, retention: 1000 };

describe('pushes', () => {
  it('arrive after the call that caused them, and only while there is a listener', async () => {
    const heard: string[] = [];
    const channel = await store.listen(
      'me',
      listener((push) => heard.push('id' in push ? push.id : push.key)),
    );
    give(asking('a', mutex), asking('b', { ...mutex, channel: channel.name }));
    const released = store.execute([{ op: 'release', key: 'k', id: 'a', retention: 1000 }]);
    expect(heard).toEqual([]);
    await Promise.all(released);
    expect(heard).toEqual(['b']);
    await channel.close();
    give({ op: 'forceRelease', key: 'k', id: '', retention: 1000 });
    await clock.advance(0);
    expect(heard).toEqual(['b']);
  });

  it('of a reopened channel are not closed by the old subscription', async () => {
    const heard: string[] = [];
    const old = await store.listen(
      'me',
      listener(() => heard.push('old')),
    );
    await store.listen(
      'me',
      listener(() => heard.push('new')),
    );
    await old.close();
    give(asking('a', { ...mutex, channel: 'me' }));
    give({ op: 'forceRelease', key: 'k', id: '', retention: 1000 });
    await clock.advance(0);
    expect(heard).toEqual(['new']);
  });
});

describe('forgetting (I9)', () => {
  it('removes a key a retention after its last use, without any request for it', async () => {
    give(asking('a', { ...mutex, ttl: 5000 }));
    await clock.advance(5999);
    expect(store.size).toBe(1);
    await clock.advance(1);
    expect(store.size).toBe(0);
  });

  it('runs while other keys are used', async () => {
    for (let n = 0; n < 100; n++) give(asking('a', { ...mutex, key: `old${n}`, ttl: 1 }));
    await clock.advance(2000);
    for (let n = 0; n < 1024; n++) give(asking('a', { ...mutex, key: 'new' }));
    expect(await keys('*')).toEqual(['new']);
  });
});

describe('keys', () => {
  it('that match are listed while they are remembered', async () => {
    for (const key of ['a:1', 'a:2', 'b:1']) give(asking('x', { ...mutex, key }));
    expect(await keys('a:*')).toEqual(['a:1', 'a:2']);
    expect(await keys('*')).toEqual(['a:1', 'a:2', 'b:1']);
    await clock.advance(60_000);
    expect(await keys('*')).toEqual([]);
  });
});

it('fences keep growing after a restart of the program (I2)', async () => {
  const grant = async (one: MemoryStore): Promise<number> => {
    const [reply] = await Promise.all(one.execute([asking('a', mutex)]));
    return reply?.status === 'granted' ? reply.fence : 0;
  };
  const before = await grant(store);
  const later = new VirtualClock();
  later.sleep(60_000);
  expect(await grant(new MemoryStore(later))).toBeGreaterThan(before);
});
