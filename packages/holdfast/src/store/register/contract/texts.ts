/** Odd keys and texts, long states, and the list of keys. */
import type { Register, Scanned } from '../register.js';
import {
  caseOf,
  check,
  expectState,
  put,
  type RegisterCase,
  type Scene,
  short,
  to,
} from './case.js';

/** The default of `stateMax`. */
const STATE_MAX = 256 * 1024;

/** Databases and files take some of these ends for the same, or do not take them. */
const ENDS: readonly string[] = [
  ...['a', 'A', ' a', 'a ', 'a  ', 'a\t', 'a\n', '', 'a/b', 'a\\b', '../a', 'a:b', '.', 'a.'],
  ...["a'b", 'a"b', 'a`b', 'a;b', '--a', 'a%', 'a_', 'a*', 'a?', '[a]', '{a}', '$1', '%61'],
  // composed and decomposed, and characters that some collations take for equal
  ...['é', 'e\u0301', 'ß', 'ss', 'ı', 'i', 'I', 'İ', 'Å', '\u212b', 'ﬁ', 'fi'],
  ...['\u0001', '\u001f', '\u007f', '\ufeff', '\uffff', '😀', '日本', 'مرحبا', '\u200b'],
];

const oddKeys = caseOf(
  'different keys have different states, whatever they contain',
  async (at) => {
    const [one, other] = [await at.register(), await at.register()];
    const start = at.key();
    const keys = ENDS.map((end) => start + end);
    for (const key of keys) await put(one, key, to(`of ${short(key)}`));
    for (const key of keys) await expectState(other, key, `of ${short(key)}`);
  },
);

const longKeys = caseOf(
  'keys of 1,300 bytes that differ at their end are different',
  async (at) => {
    const one = await at.register();
    const start = at.key('é'.repeat(620));
    for (const end of ['a', 'b']) await put(one, start + end, to(end));
    for (const end of ['a', 'b']) await expectState(one, start + end, end);
  },
);

const oddTexts = caseOf('a state comes back as it was', async (at) => {
  const [one, other] = [await at.register(), await at.register()];
  const texts = [
    ...[' ', '  a  ', 'a\n', '\n', '\r\n', "'", '"', '\\', '\\u0041', '{"a":[1,"b"]}', 'null', '0'],
    ...['é', 'e\u0301', '😀', '日本語', '\u2028', '\ufeff', '\uffff', '\u0001', '%s', '$1', '1e3'],
  ];
  for (const text of texts) {
    const key = at.key();
    await put(one, key, to(text));
    await expectState(other, key, text);
  }
});

const longStates = caseOf('a state of `stateMax` characters comes back as it was', async (at) => {
  const [one, other] = [await at.register(), await at.register()];
  const { stateMax = STATE_MAX } = one;
  const key = at.key();
  for (const text of [`[${'abcdefgh '.repeat(stateMax)}`, `[${'é日'.repeat(stateMax)}`, 'short']) {
    // a release may make a full state longer
    const state = text.slice(0, stateMax + 500);
    await put(one, key, to(state));
    await expectState(other, key, state);
  }
});

const wholeStates = caseOf('a read beside swaps sees a whole state', async (at) => {
  const [one, other] = [await at.register(), await at.register()];
  const key = at.key();
  const length = Math.floor((one.stateMax ?? STATE_MAX) / 4);
  const texts = Array.from({ length: 20 }, (_, index) => `${index % 10}`.repeat(length + index));
  let { version } = await put(one, key, to(texts[0] as string));
  let isOver = false;
  const write = async (): Promise<void> => {
    for (const text of texts) {
      if (version === '') ({ version } = await one.read(key));
      const swapped = await one.swap(key, version, to(text));
      check(swapped !== false, 'a swap lost, although no other process changed its key');
      ({ version } = swapped);
    }
  };
  const read = async (): Promise<void> => {
    while (!isOver) {
      const { state } = await other.read(key);
      check(texts.includes(state), `a read returned ${short(state)}, which is no whole state`);
    }
  };
  await Promise.all([write().finally(() => (isOver = true)), read(), read()]);
});

const within = <T>(answer: Promise<T>): Promise<T> => answer;

async function scanned(register: Register, prefix: string): Promise<Map<string, Scanned>> {
  const found = new Map<string, Scanned>();
  for await (const one of register.scan(prefix, within)) {
    check(
      one.key.startsWith(prefix),
      `scan(${short(prefix)}) listed ${short(one.key)}, which does not begin with it`,
    );
    found.set(one.key, one);
  }
  return found;
}

async function create(register: Register, keys: readonly string[]): Promise<void> {
  for (let from = 0; from < keys.length; from += 20) {
    await Promise.all(keys.slice(from, from + 20).map((key) => put(register, key, to(key))));
  }
}

async function expectListed(at: Scene, keys: readonly string[], prefix: string): Promise<void> {
  const [one, other] = [await at.register(), await at.register()];
  await create(one, keys);
  const found = await scanned(other, prefix);
  for (const key of keys) {
    const entry = found.get(key);
    check(entry !== undefined, `scan(${short(prefix)}) did not list ${short(key)}`);
    const state = entry.found?.state ?? key;
    check(state === key, `scan returned the state ${short(state)} for the key ${short(key)}`);
  }
}

const lists = caseOf('scan lists all keys with a prefix that have a state', async (at) => {
  const prefix = at.key();
  await expectListed(
    at,
    Array.from({ length: 300 }, (_, index) => `${prefix}${index}`),
    prefix,
  );
});

const listsOdd = caseOf('scan lists keys whatever they contain', async (at) => {
  const prefix = at.key();
  await expectListed(
    at,
    ENDS.map((end) => prefix + end),
    prefix,
  );
});

const literal = caseOf('the prefix of scan is no pattern', async (at) => {
  const one = await at.register();
  const start = at.key();
  for (const [prefix, like] of [
    ...(['_', '%', '*', '?', '[a]', '.', 'A'] as const).map((sign) => [sign, 'a'] as const),
    ['\\', '\\\\'] as const,
  ]) {
    await create(one, [`${start}${prefix}:x`, `${start}${like}:y`]);
    const found = await scanned(one, `${start}${prefix}:`);
    check(found.has(`${start}${prefix}:x`), `scan did not list a key with the prefix "${prefix}"`);
  }
});

const usable = caseOf('a version that scan returned serves for a swap', async (at) => {
  const [one, other] = [await at.register(), await at.register()];
  const prefix = at.key();
  const key = `${prefix}k`;
  await put(one, key, to('old'));
  await put(one, key, to('new'));
  const found = (await scanned(other, prefix)).get(key)?.found;
  if (found === undefined) return;
  check(found.state === 'new', `scan returned the state ${short(found.state)} of a changed key`);
  const swapped = await other.swap(key, found.version, to('last'));
  check(swapped !== false, 'a swap with the version that scan returned was false');
});

export const TEXTS: readonly RegisterCase[] = [
  ...[oddKeys, longKeys, oddTexts, longStates, wholeStates, lists, listsOdd, literal, usable],
];
