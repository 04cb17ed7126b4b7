/** The limit of a statement, on a connection that answers when the test says so. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Connection } from '../../src/connection.js';
import type { Opener, Row, Session } from '../../src/driver.js';

const LIMIT = 1000;

/** A server that answers nothing by itself. */
class Silent {
  opened = 0;
  ended: boolean[] = [];
  readonly asked: { text: string; answer: (rows: readonly Row[]) => void }[] = [];

  readonly open: Opener = async (): Promise<Session> => {
    this.opened += 1;
    return {
      query: (text) => new Promise((answer) => void this.asked.push({ text, answer })),
      end: async (dead) => void this.ended.push(dead),
    };
  };

  get texts(): string[] {
    return this.asked.map(({ text }) => text);
  }
}

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

describe('a connection for statements', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('gives each statement the whole limit', async () => {
    const server = new Silent();
    const connection = new Connection('test', server.open, LIMIT, undefined);
    for (const text of ['one', 'two', 'three']) {
      const rows = connection.query(text, []);
      await pass(LIMIT - 1);
      server.asked.at(-1)?.answer([{ text }]);
      expect(await rows).toEqual([{ text }]);
    }
    expect(server.opened).toBe(1);
    expect(server.ended).toEqual([]);
  });

  it('rejects those without an answer one after another, each on a new connection', async () => {
    const server = new Silent();
    const connection = new Connection('test', server.open, LIMIT, undefined);
    const over: string[] = [];
    for (const text of ['one', 'two', 'three']) {
      connection
        .query(text, [])
        .catch(({ message }: Error) => void over.push(`${text} ${message}`));
    }
    await pass(LIMIT);
    expect(over).toEqual(['one no answer within 1000 ms']);
    expect(server.texts).toEqual(['one', 'two']);
    // a late answer belongs to no other statement
    server.asked[0]?.answer([]);
    await pass(LIMIT - 1);
    expect(over).toHaveLength(1);
    await pass(LIMIT + 1);
    expect(over).toHaveLength(3);
    expect(server.opened).toBe(3);
    expect(server.ended).toEqual([true, true, true]);
  });

  it('has a limit again after a time without statements', async () => {
    const server = new Silent();
    const connection = new Connection('test', server.open, LIMIT, undefined);
    const first = connection.query('first', []);
    await pass(1);
    server.asked[0]?.answer([]);
    await first;
    await pass(5 * LIMIT);
    expect(server.ended).toEqual([]);
    const second = connection.query('second', []);
    const failing = expect(second).rejects.toThrow('no answer');
    await pass(LIMIT);
    await failing;
  });

  it('is closed after the statement that is under way, and opened by a later one', async () => {
    const server = new Silent();
    const connection = new Connection('test', server.open, LIMIT, undefined);
    const first = connection.query('first', []);
    await pass(1);
    const closing = connection.close();
    await pass(1);
    expect(server.ended).toEqual([]);
    server.asked[0]?.answer([]);
    await first;
    await closing;
    expect(server.ended).toEqual([false]);
    const second = connection.query('second', []);
    await pass(1);
    server.asked[1]?.answer([]);
    await second;
    expect(server.opened).toBe(2);
  });

  it('ends if the server is a standby, before the next statement', async () => {
    const server = new Silent();
    const connection = new Connection('test', server.open, LIMIT, undefined);
    const first = connection.query('first', []);
    const second = connection.query('second', []);
    await pass(1);
    server.asked[0]?.answer([{ standby: 'true' }]);
    await first;
    await pass(1);
    expect(server.ended).toEqual([true]);
    server.asked[1]?.answer([{ standby: 'false' }]);
    await second;
    expect(server.opened).toBe(2);
    expect(server.ended).toEqual([true]);
  });
});
