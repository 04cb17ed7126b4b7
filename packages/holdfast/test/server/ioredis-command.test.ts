/** Commands that the library makes for ioredis, in each of its versions, and when it makes none. */
import { tracingChannel } from 'node:diagnostics_channel';
import { Redis as Redis6 } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Holdfast } from '../../src/index.js';
import { Made, serverOf, stopServersAfterwards } from '../support/backends.js';
import { freshKey } from '../suites/helpers.js';

const made = new Made();
const clients: { disconnect(): void }[] = [];
afterEach(async () => {
  await made.close();
  vi.restoreAllMocks();
  for (const client of clients.splice(0)) client.disconnect();
});

/** A client, and how many calls of scripts it has made by itself. */
async function open(
  Redis: typeof Redis6,
  options: object = {},
): Promise<{ client: Redis6; own: () => number }> {
  const { port } = await serverOf('redis');
  const client = new Redis({ port, ...options });
  clients.push(client);
  let owner = Redis.prototype;
  while (!Object.hasOwn(owner, 'evalsha')) owner = Object.getPrototypeOf(owner) as typeof owner;
  const spy = vi.spyOn(owner, 'evalsha');
  return { client, own: () => spy.mock.calls.length };
}

async function pair(client: Redis6): Promise<string> {
  const lease = await made.add(new Holdfast(client)).mutex(freshKey()).acquire();
  return lease.release();
}

describe.each([
  ['ioredis 6', Redis6],
  ['ioredis 5', Redis5 as unknown as typeof Redis6],
])('%s', (_, Redis) => {
  it('sends commands of the library', async () => {
    const { client, own } = await open(Redis);
    expect(await pair(client)).toBe('freed');
    // the first one, which waits until the store is loaded
    expect(own()).toBe(1);
  });

  it.each([
    { commandTimeout: 5000 },
    { showFriendlyErrorStack: true },
    { keyPrefix: 'own:' },
    { enableAutoPipelining: true },
  ])('makes its own commands with %j', async (options) => {
    const { client, own } = await open(Redis, options);
    expect(await pair(client)).toBe('freed');
    expect(own()).toBeGreaterThan(1);
  });

  it('makes its own commands if a class of the program has others', async () => {
    class Tenant extends Redis {}
    // as a mixin that puts a prefix before each key
    Object.assign(Tenant.prototype, {
      evalsha(sha: string, count: number, ...words: string[]) {
        const [keys, args] = [words.slice(0, count), words.slice(count)];
        return Redis.prototype.evalsha.call(
          this,
          sha,
          count,
          ...keys.map((k) => `t:${k}`),
          ...args,
        );
      },
    });
    const { client, own } = await open(Tenant);
    expect(await pair(client)).toBe('freed');
    expect(own()).toBeGreaterThan(1);
  });

  it('makes its own commands if their class is not the known one', async () => {
    const { client, own } = await open(Redis);
    Object.assign(client, { ping: () => ({ toWritable: () => '' }) });
    expect(await pair(client)).toBe('freed');
    expect(own()).toBeGreaterThan(1);
  });

  it('leaves the calls to a program that replaces them', async () => {
    const { client } = await open(Redis);
    const evalsha = client.evalsha.bind(client) as (...words: unknown[]) => unknown;
    const seen: unknown[] = [];
    Object.assign(client, {
      evalsha: (...words: unknown[]) => {
        seen.push(words[0]);
        return evalsha(...words);
      },
    });
    expect(await pair(client)).toBe('freed');
    expect(new Set(seen).size).toBe(2);
  });

  it('makes its own commands while they are traced', async () => {
    const traced: unknown[] = [];
    const subscriber = { start: (message: unknown) => void traced.push(message) };
    const channel = tracingChannel('ioredis:command');
    const { client, own } = await open(Redis);
    const all = { end() {}, asyncStart() {}, asyncEnd() {}, error() {}, ...subscriber };
    channel.subscribe(all);
    try {
      expect(await pair(client)).toBe('freed');
    } finally {
      channel.unsubscribe(all);
    }
    expect(own()).toBeGreaterThan(1);
    expect(traced.length).toBeGreaterThan(1);
  });

  it('works with a library that replaces the functions of each command', async () => {
    const { client, own } = await open(Redis);
    const sendCommand = client.sendCommand.bind(client) as (...words: unknown[]) => unknown;
    const names: unknown[] = [];
    type Command = { name: string; args: unknown[]; resolve: (raw: unknown) => void };
    Object.assign(client, {
      sendCommand: (command: Command, ...rest: unknown[]) => {
        const { resolve } = command;
        names.push([command.name, command.args[1]]);
        command.resolve = (raw) => resolve(raw);
        return sendCommand(command, ...rest);
      },
    });
    expect(await pair(client)).toBe('freed');
    expect([own(), names.at(-1)]).toEqual([1, ['evalsha', '3']]);
  });

  it('sends a command again that had no reply before the connection ended', async () => {
    const { client } = await open(Redis);
    const mutex = made.add(new Holdfast(client)).mutex(freshKey());
    await (await mutex.acquire()).release();
    const acquiring = mutex.acquire();
    await Promise.resolve();
    (client as unknown as { stream: { destroy(): void } }).stream.destroy();
    expect((await acquiring).held).toBe(true);
  });

  it('reports a client that is closed', async () => {
    const { client } = await open(Redis);
    expect(await pair(client)).toBe('freed');
    await client.quit();
    await expect(pair(client)).rejects.toMatchObject({ code: 'HOLDFAST_UNREACHABLE' });
  });
});

stopServersAfterwards();
