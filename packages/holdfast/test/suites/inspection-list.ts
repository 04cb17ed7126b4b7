/** Listing locks by pattern, with any characters in their keys. */
import { expect, it } from 'vitest';
import type { Holdfast, LockInfo } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { failure, freshKey } from './helpers.js';

async function keysOf(holdfast: Holdfast, pattern?: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of holdfast.list(pattern)) keys.push(key);
  return keys.sort();
}

/** Names with characters that a store, a glob or a hash tag treats specially. */
const ODD = [
  '{',
  '}',
  '{}',
  '}{',
  '{a}b',
  'a}b{c',
  '\\',
  '\\}',
  '\\\\',
  '*',
  '?',
  '[ab]',
  '[',
  ']',
  '^-',
  'line\nbreak\r\n',
  'tab\t and blank ',
  'nul\0',
  'ünï😀中',
  ':q',
  ':x',
  '}:q',
  'wake:x',
  '\u{10ffff}\u007f',
];

/** A pattern that matches exactly this text. */
function literal(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, '\\$&');
}

export function inspectionList(backend: Backend): void {
  patterns(backend);
  oddKeys(backend);
}

function patterns(backend: Backend): void {
  it('shows every lock in use, with holders and waiters', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const prefix = freshKey('list');
    const keys = Array.from({ length: 130 }, (_, at) => `${prefix} ${at}`);
    await Promise.all(keys.map((key) => one.mutex(key).acquire()));
    await one.mutex(`${prefix} free`).run(() => undefined);
    const found: LockInfo[] = [];
    for await (const info of other.list(`${prefix} *`)) found.push(info);
    expect(found.map(({ key }) => key).sort()).toEqual(keys.sort());
    expect(found.every(({ holders }) => holders.length === 1)).toBe(true);
  });

  it('counts locks in use, and those that were used a moment ago', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const prefix = freshKey('count');
    await Promise.all(Array.from({ length: 3 }, (_, at) => one.mutex(`${prefix} ${at}`).acquire()));
    await one.mutex(`${prefix} free`).run(() => undefined);
    expect(await other.count(`${prefix} *`)).toBe(4);
    expect(await other.count(`${prefix} [12]`)).toBe(2);
    await failure(other.count(''), 'HOLDFAST_BAD_OPTION');
  });

  it.each([
    ['*', [0, 1, 2, 3, 4]],
    ['order:?', [0, 1]],
    ['order:[1-3]', [0, 1]],
    ['order:[^1]', [1]],
    ['*2*', [1, 2, 4]],
    ['order:12', [2]],
    ['nothing', []],
    ['\\*2', [4]],
  ])('understands the pattern %s', async (pattern, expected) => {
    const prefix = `${freshKey('glob')}/`;
    const holdfast = await backend.make({ prefix });
    const names = ['order:1', 'order:2', 'order:12', 'user', '*2'];
    await Promise.all(names.map((name) => holdfast.mutex(name).acquire()));
    const wanted = expected.map((at) => names[at] as string).sort();
    // all instances in memory share one store, and the prefix has no effect there
    const found = (await keysOf(holdfast, pattern)).filter((key) => names.includes(key));
    expect(found).toEqual(wanted);
    await Promise.all(names.map((name) => holdfast.forceRelease(name)));
  });

  it('shows only locks of its own prefix', async () => {
    if (backend.store === 'memory') return;
    const prefix = freshKey('own');
    const own = await backend.make({ prefix: `${prefix}[a]*:` });
    const like = await backend.make({ prefix: `${prefix}a:` });
    const longer = await backend.make({ prefix: `${prefix}[a]*:more:` });
    await own.mutex('1').acquire();
    await like.mutex('2').acquire();
    await longer.mutex('3').acquire();
    expect(await keysOf(own)).toEqual(['1']);
    expect(await keysOf(like)).toEqual(['2']);
    expect(await keysOf(longer)).toEqual(['3']);
    expect(await own.mutex('2').tryAcquire()).not.toBeNull();
  });
}

function oddKeys(backend: Backend): void {
  it.each(ODD)('and every operation accept the key %j literally', async (odd) => {
    const [one, other] = [await backend.make(), await backend.make()];
    const lease = await one.mutex(odd).acquire({ wait: 0 });
    expect(await other.mutex(odd).tryAcquire()).toBeNull();
    expect((await other.inspect(odd))?.holders[0]?.id).toBe(lease.id);
    expect(await keysOf(other, literal(odd))).toEqual([odd]);
    expect(await keysOf(other)).toContain(odd);
    const waiting = other.mutex(odd).acquire();
    expect(await lease.extend(20_000)).toBeGreaterThan(0);
    expect(await lease.release()).toBe('freed');
    expect(await (await waiting).release()).toBe('freed');
    expect(await one.inspect(odd)).toBeNull();
    expect(await keysOf(other, literal(odd))).toEqual([]);
  });

  it('treats similar keys as different locks', async () => {
    const holdfast = await backend.make();
    const leases = await Promise.all(ODD.map((key) => holdfast.mutex(key).acquire({ wait: 0 })));
    expect(leases.every(({ held }) => held)).toBe(true);
    const found = await keysOf(holdfast);
    expect(found.filter((key) => ODD.includes(key))).toEqual([...ODD].sort());
  });

  it('accepts keys of up to 1,024 bytes', async () => {
    const holdfast = await backend.make();
    for (const key of ['x'.repeat(1024), 'é'.repeat(512), '}'.repeat(1024)]) {
      await holdfast.mutex(key).run(async () => {
        expect((await holdfast.inspect(key))?.key).toBe(key);
        expect(await keysOf(holdfast)).toContain(key);
      });
    }
    for (const key of ['', 'x'.repeat(1025), `${'é'.repeat(512)}x`, '\ud800']) {
      expect(() => holdfast.mutex(key)).toThrow(/option "key"/);
      await failure(holdfast.inspect(key), 'HOLDFAST_BAD_OPTION');
      await failure(holdfast.forceRelease(key), 'HOLDFAST_BAD_OPTION');
    }
  });
}
