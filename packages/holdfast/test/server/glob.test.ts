/** The memory store matches patterns as Redis does, and lists the same locks as the Redis store. */
import fc from 'fast-check';
import { paced, type Server, startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { portFor } from '../../src/store/clients/detect.js';
import { matchingKeys } from '../../src/store/glob.js';
import { MemoryStore } from '../../src/store/memory/memory-store.js';
import { RedisStore } from '../../src/store/redis/redis-store.js';
import { asking } from '../support/crowds.js';

const KEYS = [
  ...['a', 'b', 'ab', 'abc', 'a:1', 'a:2', 'b:1', 'A', 'axb', 'a-b', 'a^b', 'a]b', 'a[b', 'a\\b'],
  ...[
    '*',
    '?',
    'a*',
    'a?b',
    '[ab]',
    '.',
    '(a)',
    'a|b',
    '$',
    '^',
    '+',
    '{a}',
    '}',
    '}a',
    '\\',
    '\\a',
  ],
  ...[
    'a\nb',
    ' ',
    'a b',
    '&&',
    '~',
    '--',
    '!',
    '0',
    '5',
    '9',
    'z',
    '-',
    ']',
    '[',
    'a/b',
    'é',
    'éa',
    'aé',
    'è',
  ],
];
const PATTERNS = [
  ...['*', '**', '?', '??', 'a', 'a*', '*b', 'a*b', 'a?b', '?b*', '*:*', '*:1', '[ab]', '[ab]*'],
  ...[
    '[^a]',
    '[^a]*',
    '[a-c]',
    '[c-a]',
    '[a-c]:[0-9]',
    '[0-9]',
    '\\*',
    '\\?',
    'a\\*',
    'a\\?b',
    '\\[ab]',
  ],
  ...[
    'a\\\\b',
    '\\\\',
    '[\\]]',
    '[\\-]',
    '[a\\-z]',
    'a[\\^]b',
    'a[]]b',
    '[]',
    '[^]',
    'a.b',
    '(a)',
    'a|b',
  ],
  ...[
    '$',
    '^',
    '+',
    '{a}',
    '}*',
    '}',
    '[&&]',
    '[~]',
    '[!a]',
    '[',
    'a[',
    '[a',
    '[a-',
    '[^',
    '\\',
    'a\\',
  ],
  ...['-', '[-]', '[--]', '[a-]', '[-a]', '[.-0]', '[[]', 'a[[]b', 'a/b', '[a-zA-Z0-9]', '[^a-z]'],
  ...[
    'a\nb',
    '[^\n]',
    ' ',
    '? ?',
    '[\\a]',
    '\\a',
    '[z-a]*',
    '[\\\\]*',
    '!',
    '[^^]',
    '[a^]*',
    'é',
    '?a',
    '[é]',
    '[é]?',
    '[^é]*',
    '[è-é]*',
    '*?*',
    'a**b',
  ],
];

/** Patterns with special characters, and keys that the Redis store need not escape. */
const GOOD = [
  '*',
  '??',
  'a*',
  '*b',
  'a?b',
  '*:1',
  '[ab]*',
  '[^a]?*',
  'a\\*',
  '[a-c]:[0-9]',
  'a\\\\b',
  'é*',
];
const PLAIN = KEYS.filter((key) => !/^[}\\]/.test(key));

let server: Server;
let redis: Redis;
const memory = new MemoryStore();

beforeAll(async () => {
  server = await startServer({ server: 'redis' });
  redis = new Redis(server.port, server.host);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

async function all(keys: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = [];
  for await (const key of keys) found.push(key);
  return found.sort();
}

describe('the memory store matches as Redis does', () => {
  beforeAll(async () => {
    for (const key of KEYS) {
      await redis.set(key, '');
      await Promise.all(memory.execute([asking('a', { key })]));
    }
  });
  afterAll(() => redis.flushall());

  it.each(PATTERNS)('%j', async (pattern) => {
    expect(await all(matchingKeys(memory, pattern, (page) => page))).toEqual(
      (await redis.keys(pattern)).sort(),
    );
  });

  // no bytes beyond ASCII in ranges: their order depends on the server's processor
  it('for random patterns', { timeout: paced(60_000) }, async () => {
    const pieces = ['*', '?', '[', ']', '^', '-', '\\', 'a', 'b', 'z', ':', '}'];
    const pattern = fc
      .array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 8 })
      .map((parts) => parts.join(''));
    const same = async (text: string): Promise<void> => {
      expect(await all(matchingKeys(memory, text, (page) => page))).toEqual(
        (await redis.keys(text)).sort(),
      );
    };
    await fc.assert(fc.asyncProperty(pattern, same), { numRuns: 3000 });
  });
});

describe('both stores list the same locks', () => {
  const store = (): RedisStore => new RedisStore(portFor(redis), 'p[1]*:');

  beforeAll(async () => {
    for (const key of PLAIN) await Promise.all(store().execute([asking('a', { key })]));
  });

  it.each(GOOD)('%j', async (pattern) => {
    const matching = await all(matchingKeys(memory, pattern, (page) => page));
    const expected = matching.filter((key) => PLAIN.includes(key));
    const listed = new Set(await all(matchingKeys(store(), pattern, (page) => page)));
    expect([...listed].sort()).toEqual(expected);
    expect(expected).not.toEqual([]);
  });
});
