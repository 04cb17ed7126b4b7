/** The channels of a connection for messages that is opened again. */
import { describe, expect, it } from 'vitest';
import type { Opener, Session, SessionEvents } from '../../src/driver.js';
import { Listening } from '../../src/listening.js';

/** A server that answers at once, and holds back the statement that a test names. */
class Server {
  /** The statements of the last connection. */
  texts: string[] = [];
  events: SessionEvents | undefined;
  held: string | undefined;
  goOn: () => void = () => undefined;

  readonly open: Opener = async (events): Promise<Session> => {
    const texts: string[] = [];
    this.texts = texts;
    this.events = events;
    return {
      query: async (text) => {
        texts.push(text);
        if (text === this.held) await new Promise<void>((resolve) => (this.goOn = resolve));
        return [];
      },
      end: async () => undefined,
    };
  };

  /** Delivers a message, as the server does with one of another connection. */
  readonly notify = async (channel: string, text: string): Promise<void> => {
    setImmediate(() => this.events?.message(channel, text));
  };
}

const listener = { message: () => undefined, up: () => undefined, down: () => undefined };
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
};

describe('a channel that is closed while the connection is opened again', () => {
  it.each([
    ['after it was attached', 'LISTEN b'],
    ['while it is attached', 'LISTEN a'],
  ])('is not listened to: %s', async (_, held) => {
    const server = new Server();
    const listening = new Listening(server.open, server.notify, true);
    const [a, b] = [await listening.listen('a', listener), await listening.listen('b', listener)];
    server.held = held;
    const before = server.texts;
    server.events?.ended();
    await expect.poll(() => server.texts !== before && server.texts.includes(held)).toBe(true);
    const closed = a.close();
    server.goOn();
    await turns();
    await closed;
    const own = server.texts.filter((text) => / a$|'a'/.test(text));
    expect(own.lastIndexOf('UNLISTEN a')).toBeGreaterThan(own.lastIndexOf('LISTEN a'));
    const count = (name: string): number => own.filter((text) => text.includes(name)).length;
    expect(count('pg_advisory_unlock_shared')).toBe(count('pg_advisory_lock_shared'));
    await b.close();
  });
});
