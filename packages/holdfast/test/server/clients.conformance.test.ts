/** What the contract in clients/port.ts requires, for each client, protocol and server. */
import { createHash } from 'node:crypto';
import { type Server, startServer } from 'holdfast-testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ClientPort, ScriptCall } from '../../src/store/clients/port.js';
import { GLIDE } from '../support/glide.js';
import {
  type Adapter,
  closeAll,
  matrix,
  type Protocol,
  USERS,
  type Where,
} from './clients.support.js';

const ECHO = 'return {#KEYS, KEYS, ARGV}';
const PUSH = "return {redis.call('RPUSH', KEYS[1], ARGV[1]), ARGV[1]}";
const FAIL = "return redis.error_reply('BROKEN on purpose')";
const INTEGERS = 'return {1125899906842624, -1125899906842624, 9007199254740943, 0, {1}}';

const shaOf = (source: string): string => createHash('sha1').update(source).digest('hex');
const call = (source: string, keys: string[] = [], args: string[] = []): ScriptCall => ({
  sha: shaOf(source),
  keys,
  args,
});

/** The reply or the error that a receiver gets, or that `evalsha` gives if there are none. */
function outcomeOf(port: ClientPort, one: ScriptCall): Promise<unknown> {
  return new Promise((resolve) => {
    const [before, last] = [one.args.slice(0, -1), one.args.at(-1)];
    const to = { answered: resolve, failed: resolve };
    const isPosted = last !== undefined && port.post?.({ ...one, args: before }, last, to);
    if (isPosted !== true) void port.evalsha([one])[0]?.then(resolve, resolve);
  });
}

function adapterSuite(adapter: Adapter, protocol: Protocol, servers: () => Server): void {
  let server: Server;
  let where: Where;

  beforeAll(async () => {
    server = servers();
    where = { host: server.host, port: server.port, protocol };
    await server.command('FLUSHALL');
    for (const source of [ECHO, PUSH, FAIL, INTEGERS]) {
      await server.command('SCRIPT', 'LOAD', source);
    }
  });
  afterEach(closeAll);

  it('speaks the configured protocol', async () => {
    const { port } = await adapter.open({ ...where, name: 'probe' });
    await port.evalsha([call(ECHO)])[0];
    const list = String(await server.command('CLIENT', 'LIST'));
    const line = list.split('\n').find((one) => one.includes(' name=probe '));
    expect(line).toContain(` resp=${protocol}`);
  });

  const settings = [['no options', {}] as const, ...adapter.quirks];
  it.each(settings)(
    'sends a batch in order and returns one result or error for each command: %s',
    async (name, extra) => {
      const { port } = await adapter.open({ ...where, extra });
      const key = `order ${adapter.name} ${name}`;
      const calls = Array.from({ length: 100 }, (_, i) => call(PUSH, [key], [`${i}`]));
      calls[10] = call('unknown to the server', [key]);
      calls[20] = call(FAIL);
      const results = await Promise.allSettled(port.evalsha(calls));

      const sent = [...calls.keys()].filter((i) => i !== 10 && i !== 20);
      expect(await server.command('LRANGE', key, 0, -1)).toEqual(sent.map(String));
      const values = results.map((one) => (one.status === 'fulfilled' ? one.value : one.reason));
      expect(sent.map((i) => values[i])).toEqual(sent.map((i, at) => [at + 1, `${i}`]));
      expect(values[10]).toBeInstanceOf(Error);
      expect(values[10].message).toMatch(/^NOSCRIPT /);
      expect(values[20].message).toMatch(/^BROKEN on purpose/);
      expect([values[10], values[20]].map((error) => port.isReply(error))).toEqual([true, true]);
      // and as a single command, which may take another path
      expect(await port.evalsha([call(PUSH, [key], ['last'])])[0]).toEqual([99, 'last']);
      await expect(port.evalsha([call('unknown')])[0]).rejects.toThrow(/^NOSCRIPT /);
      // and with a receiver, in the order of the calls
      const received = [call(PUSH, [key], ['posted']), call('unknown'), call(FAIL)].map((one) => {
        return outcomeOf(port, one);
      });
      const after = port.evalsha([call(PUSH, [key], ['after'])])[0];
      const [posted, unknown, failed] = await Promise.all(received);
      expect([posted, await after]).toEqual([
        [100, 'posted'],
        [101, 'after'],
      ]);
      expect([unknown, failed]).toEqual([
        expect.objectContaining({ message: expect.stringMatching(/^NOSCRIPT /) as string }),
        expect.objectContaining({ message: expect.stringMatching(/^BROKEN on purpose/) as string }),
      ]);
    },
  );

  it('keeps the order of single calls and batches', async () => {
    const { port } = await adapter.open(where);
    const key = `mixed ${adapter.name}`;
    const push = (value: string): ScriptCall => call(PUSH, [key], [value]);
    const all = [['a'], ['b', 'c'], ['d'], ['e', 'f', 'g']].map((one) => one.map(push));
    await Promise.all(all.flatMap((calls) => port.evalsha(calls)));
    expect(await server.command('LRANGE', key, 0, -1)).toEqual('abcdefg'.split(''));
    expect(port.evalsha([])).toEqual([]);
  });

  it("evaluates a script that is not in the server's cache", async () => {
    const { port } = await adapter.open(where);
    const source = `return {KEYS[1], ARGV[1], ARGV[2]} -- ${adapter.name} ${protocol}`;
    expect(await port.eval(source, ['k'], ['a', 'b'])).toEqual(['k', 'a', 'b']);
    expect(await port.evalsha([{ sha: shaOf(source), keys: ['k'], args: [] }])[0]).toEqual(['k']);
    await expect(port.eval('this is no Lua', [], [])).rejects.toThrow(/compil/);
  });

  it.each([['no options', {}] as const, ...adapter.quirks])(
    'gives integers as exact numbers, strings as strings: %s',
    async (_, extra) => {
      const { port } = await adapter.open({ ...where, extra });
      // the parser of node-redis, also used by ioredis 6, is exact only up to 2^53 - 49
      const exact = [2 ** 50, -(2 ** 50), 2 ** 53 - 49, 0, [1]];
      expect(await port.evalsha([call(INTEGERS)])[0]).toEqual(exact);
      expect(await port.eval(INTEGERS, [], [])).toEqual(exact);
    },
  );

  it('sends keys and arguments unchanged', async () => {
    const { port } = await adapter.open(where);
    const odd = [
      '',
      ' ',
      '"',
      "'",
      '\r\n',
      '\0',
      '*1\r\n$4\r\nPING\r\n',
      'ä€😀',
      '{a}b',
      '\\x',
      '-1',
    ];
    const echoed = [odd.length, odd, odd];
    expect(await port.evalsha([call(ECHO, odd, odd)])[0]).toEqual(echoed);
    expect(await Promise.all(port.evalsha([call(ECHO, odd, odd), call(ECHO, odd, odd)]))).toEqual([
      echoed,
      echoed,
    ]);
    expect(await port.eval(ECHO, odd, odd)).toEqual(echoed);
    const long = 'ü'.repeat(500_000);
    expect(await port.evalsha([call(ECHO, [long], [])])[0]).toEqual([1, [long], []]);
  });

  it("adds the client's key prefix to keys only", async () => {
    const plain = await adapter.open(where);
    expect(plain.port.keyPrefix).toBe('');
    if (!adapter.keyPrefix) return;
    const { port } = await adapter.open({ ...where, keyPrefix: 'pre:' });
    expect(port.keyPrefix).toBe('pre:');
    const echoed = [2, ['pre:k', 'pre:l'], ['a']];
    const one = call(ECHO, ['k', 'l'], ['a']);
    expect(await Promise.all(port.evalsha([one]))).toEqual([echoed]);
    expect(await Promise.all(port.evalsha([one, one]))).toEqual([echoed, echoed]);
    expect(await port.eval(ECHO, ['k', 'l'], ['a'])).toEqual(echoed);
    // SCAN takes no keys: the pattern and the returned names are not changed
    await server.command('SET', 'pre:found', '1');
    const page = { cursor: '0', keys: ['pre:found'], answer: 'proof' };
    expect(await port.scan('0', 'pre:found', 10_000, 'proof')).toEqual(page);
    expect((await port.scan('0', 'found', 10_000)).keys).toEqual([]);
  });

  it("uses the client's database", async () => {
    const { port } = await adapter.open({ ...where, db: 3 });
    await port.evalsha([call(PUSH, ['only in 3'], ['x'])])[0];
    expect(await server.command('EXISTS', 'only in 3')).toBe(0);
    expect((await port.scan('0', 'only in *', 1000)).keys).toEqual(['only in 3']);
  });

  it('scans page by page', async () => {
    const { port } = await adapter.open({ ...where, db: 4 });
    const source = "for i = 1, 1000 do redis.call('SET', KEYS[1] .. i, 1) end";
    await port.eval(source, ['s:'], []);
    const seen = new Set<string>();
    let pages = 0;
    let cursor = '0';
    do {
      const page = await port.scan(cursor, 's:*', 100);
      for (const key of page.keys) seen.add(key);
      pages += 1;
      cursor = page.cursor;
      expect(typeof cursor).toBe('string');
    } while (cursor !== '0');
    expect(seen.size).toBe(1000);
    expect(pages).toBeGreaterThan(3);
  });

  it("logs in as the client's user", async () => {
    const login = { username: 'locker', password: 's3cret!', name: 'probe' };
    const { port } = await adapter.open({ ...where, ...login });
    expect(await port.eval("return 'in'", [], [])).toBe('in');
    const list = String(await server.command('CLIENT', 'LIST'));
    expect(list).toMatch(/ name=probe .* user=locker /);
    const limited = { ...where, username: 'clumsy', password: 's3cret!' };
    const clumsy = await adapter.open(limited);
    const denied = clumsy.port.eval("return redis.call('SET', KEYS[1], 1)", ['k'], []);
    const error = await denied.catch((reason: unknown) => reason);
    expect(String(error)).toMatch(/ACL failure|NOPERM|can't run/i);
    expect(clumsy.port.isReply(error)).toBe(true);
  });

  it('speaks TLS', async () => {
    const { port } = await adapter.open({ ...where, port: server.tlsPort ?? 0, ca: server.ca });
    expect(await Promise.all(port.evalsha([call(ECHO, ['k']), call(ECHO)]))).toEqual([
      [1, ['k'], []],
      [0, [], []],
    ]);
  });

  it('distinguishes error replies from connection failures', async () => {
    const { port, close } = await adapter.open({ ...where, impatient: true });
    const reply = await port.evalsha([call('unknown')])[0]?.catch((error: unknown) => error);
    expect(port.isReply(reply)).toBe(true);
    server.pause();
    const lost = [...port.evalsha([call(ECHO)]), ...port.evalsha([call(ECHO), call(ECHO)])];
    lost.push(port.eval('return 1', [], []));
    const errors = Promise.all(lost.map((one) => one.catch((error: unknown) => error)));
    await server.kill();
    for (const error of await errors) {
      expect(error).toBeInstanceOf(Error);
      expect(port.isReply(error)).toBe(false);
    }
    await close();
    const closed = [...port.evalsha([call(ECHO)]), ...port.evalsha([call(ECHO), call(ECHO)])];
    closed.push(port.eval('return 1', [], []), port.scan('0', '*', 1));
    for (const one of closed) {
      const error = await one.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(Error);
      expect(port.isReply(error)).toBe(false);
    }
    await server.restart();
    for (const source of [ECHO, PUSH, FAIL, INTEGERS]) {
      await server.command('SCRIPT', 'LOAD', source);
    }
  });

  it('treats a refused login as a connection failure', async () => {
    await server.command('ACL', 'SETUSER', 'default', 'off');
    try {
      const wrong = { ...where, username: 'locker', password: 'wrong', offline: true };
      const { port } = await adapter.open({ ...wrong, impatient: true });
      const sent = [...port.evalsha([call(ECHO)]), ...port.evalsha([call(ECHO), call(ECHO)])];
      const errors = sent.map((one) => one.catch((reason: unknown) => reason));
      for (const error of await Promise.all(errors)) {
        expect(String(error)).toMatch(/WRONGPASS|NOAUTH|closed|Max|max|authentication failed/);
        // node-redis writes waiting commands together with the login, so their reply is NOAUTH
        expect(port.isReply(error)).toBe((error as Error).message.startsWith('NOAUTH'));
      }
    } finally {
      await server.command('ACL', 'SETUSER', 'default', 'on');
    }
  });
}

matrix(adapterSuite);

describe('glide', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer({ server: 'valkey', tls: true, users: USERS });
  });
  afterAll(() => server.stop());
  describe('RESP3', () => adapterSuite(GLIDE, 3, () => server));
});
