/** Mistakes of registers, and for each the case of the contract that finds it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { MemoryRegister, Register, Swapped, Versioned } from '../../src/register.js';
import { type Broken, force, mistake, type Mistake } from './plant-mistake.js';
import { MESSAGE_MISTAKES } from './register-mistakes-messages.js';

/** Keys are changed before they are used. */
const keyed =
  (change: (key: string) => string): Broken =>
  (whole) => ({
    read: (key) => whole.read(change(key)),
    swap: (key, version, to) => whole.swap(change(key), version, to),
  });

/** States are changed before they are kept. */
const stored =
  (change: (state: string) => string): Broken =>
  (whole) => ({
    swap: (key, version, to) => whole.swap(key, version, { ...to, state: change(to.state) }),
  });

/**
 * States end at another time. The answer that shows it is as old as their true end at the latest,
 * so a reader that is slow sees it too.
 */
const forgetting = (change: (end: number) => number): Broken => {
  const ends = new Map<string, number>();
  return (whole) => ({
    read: async (key) => {
      const read = await whole.read(key);
      const end = ends.get(key) ?? Number.POSITIVE_INFINITY;
      return read.state === '' ? { ...read, time: Math.min(read.time, end - 1) } : read;
    },
    swap: (key, version, to) => {
      ends.set(key, to.forgetAt);
      return whole.swap(key, version, { ...to, forgetAt: change(to.forgetAt) });
    },
  });
};

/** All answers have another time. */
const timed =
  (change: (time: number) => number): Broken =>
  (whole) => ({
    read: async (key) => {
      const read = await whole.read(key);
      return { ...read, time: change(read.time) };
    },
    swap: async (key, version, to) => {
      const swapped = await whole.swap(key, version, to);
      return swapped && { ...swapped, time: change(swapped.time) };
    },
  });

/** Versions that count the swaps of a key since it has a state. */
function counted(whole: MemoryRegister): Partial<Register> {
  const own = async (key: string): Promise<Versioned & { own: string; text: string }> => {
    const read = await whole.read(key);
    const [count = '0', ...text] = read.state.split('|');
    const version = read.state === '' ? '0' : count;
    return { ...read, own: read.version, version, text: text.join('|') };
  };
  return {
    read: async (key) => {
      const { text, version, time } = await own(key);
      return { state: text, version, time };
    },
    swap: async (key, version, to) => {
      const now = await own(key);
      if (now.version !== version) return false;
      const next = `${Number(version) + 1}`;
      const state = to.state === '' ? '' : `${next}|${to.state}`;
      const swapped = await whole.swap(key, now.own, { ...to, state });
      return swapped && { ...swapped, version: to.state === '' ? '0' : next };
    },
  };
}

const offsets = [0, 5_000_000];
let made = 0;

export const MISTAKES: Readonly<Record<string, Mistake>> = {
  'the version of a new key is empty': mistake(
    'a key without a state has an empty text and a version',
    (whole) => ({
      read: async (key) => {
        const read = await whole.read(key);
        return read.state === '' ? { ...read, version: '' } : read;
      },
    }),
  ),
  'each process has states of its own for some time': mistake(
    'a swap replaces the state, for all processes',
    (whole) => {
      const cache = new Map<string, Versioned>();
      return {
        read: async (key) => {
          const read = cache.get(key) ?? (await whole.read(key));
          cache.set(key, read);
          return read;
        },
      };
    },
  ),
  'a swap returns the version before it': mistake(
    'the version of a swap serves for the next one',
    (whole) => ({
      swap: async (key, version, to) => {
        const swapped = await whole.swap(key, version, to);
        return swapped && { ...swapped, version };
      },
    }),
  ),
  'the version is the time in milliseconds': mistake(
    'each of many quick swaps has a version of its own',
    (whole) => {
      const versions = new Map<string, string>();
      return {
        read: async (key) => {
          const read = await whole.read(key);
          return { ...read, version: versions.get(key) ?? 'none' };
        },
        swap: async (key, version, to) => {
          if ((versions.get(key) ?? 'none') !== version) return false;
          versions.set(key, `${Date.now()}`);
          const swapped = await force(whole, key, to);
          return swapped && { ...swapped, version: versions.get(key) as string };
        },
      };
    },
  ),
  'the version is not compared': mistake('a swap with an old version changes nothing', (whole) => ({
    swap: (key, _, to) => force(whole, key, to),
  })),
  '`overtake` only reads': mistake(
    '`overtake` makes every swap of an earlier version lose',
    (whole) => ({ overtake: (key) => whole.read(key) }),
  ),
  '`overtake` overtakes another one': mistake(
    '`overtake` makes every swap of an earlier version lose',
    (whole) => ({
      overtake: async (key) => {
        const { state } = await whole.read(key);
        if (state !== '') await force(whole, key, { state, forgetAt: 1e16, messages: [] });
        return whole.read(key);
      },
    }),
  ),
  'a swap is taken for a repetition of the last one': mistake(
    'a version is used once: the same swap again returns false',
    (whole) => {
      const last = new Map<string, [string, string, Swapped]>();
      return {
        swap: async (key, version, to) => {
          const [before, state, answer] = last.get(key) ?? [];
          if (before === version && state === to.state) return answer as Swapped;
          const swapped = await whole.swap(key, version, to);
          last.set(key, [version, to.state, swapped]);
          return swapped;
        },
      };
    },
  ),
  'the version is compared some time before the state is written': mistake(
    'of concurrent swaps with one version, one wins',
    (whole) => ({
      swap: async (key, version, to) => {
        if ((await whole.read(key)).version !== version) return false;
        await sleep(1);
        return force(whole, key, to);
      },
    }),
  ),
  'one version counts the swaps of all keys': mistake(
    'swaps of different keys do not disturb each other',
    (whole) => {
      let swaps = 0;
      return {
        read: async (key) => ({ ...(await whole.read(key)), version: `${swaps}` }),
        swap: async (key, version, to) => {
          if (version !== `${swaps}`) return false;
          swaps += 1;
          const mine = `${swaps}`;
          await sleep(1);
          const swapped = await force(whole, key, to);
          return swapped && { ...swapped, version: mine };
        },
      };
    },
  ),
  'versions begin anew after a deletion': mistake(
    'no version comes back after a state was deleted',
    counted,
  ),
  'versions begin anew after forgetting': mistake(
    'no version comes back after a state was forgotten',
    counted,
  ),
  'a replica answers reads': mistake('histories of concurrent calls are linearizable', (whole) => ({
    read: async (key) => {
      const read = await whole.read(key);
      await sleep(2);
      return read.state === '' ? read : { ...(await whole.read(key)), state: read.state };
    },
  })),
  'a swap that won returns false if another one follows at once': mistake(
    'histories of concurrent calls are linearizable',
    (whole) => ({
      swap: async (key, version, to) => {
        const swapped = await whole.swap(key, version, to);
        await sleep(1);
        const now = await whole.read(key);
        return swapped && now.version === swapped.version && swapped;
      },
    }),
  ),
  'the time is in milliseconds': mistake(
    'the clock counts microseconds, the same for all processes',
    timed((time) => Math.floor(time / 1000)),
  ),
  'the time is the one of the process': mistake(
    'the clock counts microseconds, the same for all processes',
    (whole) => {
      made += 1;
      const offset = offsets[made % 2] as number;
      return timed((time) => time + offset)(whole);
    },
  ),
  'the time has whole seconds': mistake(
    'the clock counts microseconds, the same for all processes',
    timed((time) => time - (time % 1_000_000)),
  ),
  'the time is read once': mistake(
    'the clock counts microseconds, the same for all processes',
    (whole) => {
      let first: number | undefined;
      return timed((time) => (first ??= time))(whole);
    },
  ),
  'the time runs backwards': mistake(
    'the clock does not run backwards from answer to answer',
    (whole) => {
      let calls = 0;
      return timed((time) => time - (calls += 1) * 1000)(whole);
    },
  ),
  'a state is forgotten too early': mistake(
    'a state is kept until its time',
    forgetting((end) => end - 300_000),
  ),
  'the time of forgetting is taken for milliseconds': mistake(
    'a state is kept until its time',
    forgetting((end) => end / 1000),
  ),
  'upper and lower case are equal': mistake(
    'different keys have different states, whatever they contain',
    keyed((key) => key.toLowerCase()),
  ),
  'spaces at the end do not count': mistake(
    'different keys have different states, whatever they contain',
    keyed((key) => key.trimEnd()),
  ),
  'keys are normalized': mistake(
    'different keys have different states, whatever they contain',
    keyed((key) => key.normalize('NFC')),
  ),
  'keys are cut': mistake(
    'keys of 1,300 bytes that differ at their end are different',
    keyed((key) => key.slice(0, 255)),
  ),
  'states are trimmed': mistake(
    'a state comes back as it was',
    stored((state) => state.trim()),
  ),
  'states are kept as Latin-1': mistake(
    'a state comes back as it was',
    stored((state) => Buffer.from(state, 'latin1').toString('latin1')),
  ),
  'states are cut': mistake(
    'a state of `stateMax` characters comes back as it was',
    stored((state) => state.slice(0, 65_535)),
  ),
  'a state is written in two parts': mistake('a read beside swaps sees a whole state', (whole) => ({
    swap: async (key, version, to) => {
      const half = to.state.slice(0, to.state.length / 2);
      const first = await whole.swap(key, version, { ...to, state: half });
      await sleep(1);
      return first && whole.swap(key, first.version, to);
    },
  })),
  'scan returns one page': mistake(
    'scan lists all keys with a prefix that have a state',
    (whole) => ({
      scan: async function* (prefix) {
        let left = 100;
        for await (const one of whole.scan(prefix)) if ((left -= 1) >= 0) yield one;
      },
    }),
  ),
  'scan ends at U+FFFF': mistake('scan lists keys whatever they contain', (whole) => ({
    scan: async function* (prefix) {
      const end = Buffer.from(`${prefix}\uffff`);
      for await (const one of whole.scan(prefix)) {
        if (Buffer.compare(Buffer.from(one.key), end) < 0) yield one;
      }
    },
  })),
  'the prefix of scan is a pattern': mistake('the prefix of scan is no pattern', (whole) => ({
    scan: async function* (prefix) {
      const escaped = prefix.replace(/[.*+?^${}()|[\]\\%]/g, '\\$&');
      const pattern = new RegExp(`^${escaped.replaceAll('_', '.')}`, 'u');
      for await (const one of whole.scan('')) if (pattern.test(one.key)) yield one;
    },
  })),
  'scan returns versions of its own': mistake(
    'a version that scan returned serves for a swap',
    (whole) => ({
      scan: async function* (prefix) {
        for await (const { key } of whole.scan(prefix)) {
          yield { key, found: { ...(await whole.read(key)), version: 'scanned' } };
        }
      },
    }),
  ),
  ...MESSAGE_MISTAKES,
};
