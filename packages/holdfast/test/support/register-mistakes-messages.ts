/** Mistakes of registers in their messages and their optional methods. */
import type { MemoryRegister, MessageListener } from '../../src/register.js';
import { force, mistake, type Mistake } from './plant-mistake.js';

export const MESSAGE_MISTAKES: Readonly<Record<string, Mistake>> = {
  'long messages are dropped': mistake(
    'the messages of a swap arrive at their channels',
    (whole) => ({
      swap: (key, version, to) => {
        const messages = to.messages.filter(({ text }) => text.length < 1000);
        return whole.swap(key, version, { ...to, messages });
      },
    }),
  ),
  'messages go to all channels': mistake(
    'the messages of a swap arrive at their channels',
    (whole) => {
      const channels = listenersOf(whole);
      return {
        listen: async (channel, listener) => {
          channels.add(channel);
          return whole.listen(channel, listener);
        },
        swap: (key, version, to) => {
          const texts = to.messages.map(({ text }) => text);
          const messages = [...channels].flatMap((channel) => {
            return texts.map((text) => ({ channel, text }));
          });
          return whole.swap(key, version, { ...to, messages });
        },
      };
    },
  ),
  '`up` is never called': mistake('the messages of a swap arrive at their channels', (whole) => ({
    listen: (channel, listener) => {
      const silent: MessageListener = {
        message: (text) => listener.message(text),
        up: () => undefined,
        down: () => undefined,
      };
      return whole.listen(channel, silent);
    },
  })),
  'messages are sent before the swap': mistake(
    'the messages of a swap that lost are not sent',
    (whole) => ({
      swap: async (key, version, to) => {
        await force(whole, 'messages', { ...to, state: 'sent' });
        return whole.swap(key, version, { ...to, messages: [] });
      },
    }),
  ),
  'a channel is never closed': mistake(
    'a closed channel gets no messages, and may be opened again',
    (whole) => {
      const all = new Map<string, MessageListener[]>();
      return {
        listen: async (channel, listener) => {
          const listeners = [...(all.get(channel) ?? []), listener];
          all.set(channel, listeners);
          await whole.listen(channel, {
            message: (text) => {
              for (const one of listeners) one.message(text);
            },
            up: () => listener.up(),
            down: () => listener.down(),
          });
          return { close: async () => undefined };
        },
      };
    },
  ),
  'a living process counts as dead': mistake(
    '`alive` calls no channel dead on which a process listens',
    () => ({ alive: async (channels) => channels.map((_, at) => at > 0) }),
  ),
  'readMany returns the states in its own order': mistake(
    '`readMany` returns what `read` returns, in order',
    (whole) => ({ readMany: (keys) => whole.readMany([...keys].sort()) }),
  ),
  'readMany leaves out keys without a state': mistake(
    '`readMany` returns what `read` returns, in order',
    (whole) => ({
      readMany: async (keys) => (await whole.readMany(keys)).filter(({ state }) => state !== ''),
    }),
  ),
  'swapMany makes all swaps or none': mistake(
    '`swapMany` does what `swap` does, for each key alone',
    (whole) => ({
      swapMany: async (swaps) => {
        const read = await whole.readMany(swaps.map(({ key }) => key));
        const fits = read.every(({ version }, at) => version === swaps[at]?.version);
        return fits ? whole.swapMany(swaps) : swaps.map(() => false as const);
      },
    }),
  ),
  'swapMany sends no messages': mistake(
    '`swapMany` does what `swap` does, for each key alone',
    (whole) => ({
      swapMany: (swaps) => {
        return whole.swapMany(
          swaps.map((swap) => ({ ...swap, change: { ...swap.change, messages: [] } })),
        );
      },
    }),
  ),
  'nothing works after close': mistake(
    'a call after `close` opens what it needs again',
    (whole) => {
      let isClosed = false;
      return {
        close: async () => {
          isClosed = true;
        },
        read: async (key) => {
          const read = await whole.read(key);
          return isClosed ? { ...read, state: '' } : read;
        },
      };
    },
  ),
  'a finding lacks its texts': mistake('`examine` and `trouble` tell what the port says', () => ({
    examine: async () => [{ code: 'x:y', severity: 'warning' } as never],
  })),
};

/** The channels that are open on the data of a register. */
function listenersOf(whole: MemoryRegister): Set<string> {
  const known = LISTENERS.get(whole) ?? new Set();
  LISTENERS.set(whole, known);
  return known;
}
const LISTENERS = new WeakMap<MemoryRegister, Set<string>>();
