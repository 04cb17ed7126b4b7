/**
 * The rollout from another library: programs with the published packages of redlock 5 and
 * redis-semaphore run beside programs with Holdfast, and only one at a time holds the lock.
 */
import { paced, type Server, sleep, until } from 'holdfast-testkit';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { handOver, toText } from '../../src/handover.js';
import { besides, redisson, redlock } from '../../src/migrate.js';
import { Holdfast, memory } from '../../src/index.js';
import {
  CLIENTS,
  type ClientName,
  Made,
  membersOf,
  openClient,
  serverOf,
  stopServersAfterwards,
} from '../support/backends.js';
import {
  OLD_LIBRARIES,
  type OldLibrary,
  type OldProgram,
  redlockProgram,
} from '../support/old-programs.js';
import { aborted, failure, freshKey, later, Watch } from '../suites/helpers.js';
import type { Opened } from './clients.support.js';

stopServersAfterwards();

const made = new Made();
const programs: OldProgram[] = [];
const opened: Opened[] = [];
let server: Server;
beforeAll(async () => {
  server = await serverOf('redis');
});
afterEach(async () => {
  await made.close();
  for (const program of programs.splice(0)) program.close();
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

function oldProgram(library: OldLibrary): OldProgram {
  const program = library.program(server);
  programs.push(program);
  return program;
}

/** A program with Holdfast, and its client. */
async function newProgram(kind: ClientName = 'ioredis-6'): Promise<[Holdfast, Opened]> {
  const one = await openClient(kind, { host: server.host, port: server.port });
  opened.push(one);
  return [made.add(new Holdfast(one.client, { claimWindow: paced(100) })), one];
}

const TTL = 10_000;

describe.each(OLD_LIBRARIES)('beside $name', (library) => {
  it('old, new and later programs never hold at the same time', {
    timeout: paced(60_000),
  }, async () => {
    const key = freshKey();
    const [early, late] = [new Watch(), new Watch()];
    const old = async (watch: Watch): Promise<void> => {
      const program = oldProgram(library);
      for (let round = 0; round < 12; round++) {
        const release = await program.acquire(key, TTL);
        await watch.visit(0);
        await release();
      }
    };
    const both = async (kind: ClientName, watch: Watch): Promise<void> => {
      const [holdfast, { client }] = await newProgram(kind);
      const mutex = besides(holdfast, key, library.lock(client, key));
      for (let round = 0; round < 12; round++) await mutex.run(({ fence }) => watch.visit(fence));
    };
    const later = async (watch: Watch): Promise<void> => {
      const mutex = (await newProgram())[0].mutex(key);
      for (let round = 0; round < 12; round++) await mutex.run(({ fence }) => watch.visit(fence));
    };
    // first step of the rollout: old programs and programs with both locks
    await Promise.all([old(early), old(early), ...CLIENTS.map((kind) => both(kind, early))]);
    // second step: programs with both locks and programs with Holdfast alone
    await Promise.all([later(late), later(late), both('node-redis-6', late)]);
    expect([early.most, early.fences.length]).toEqual([1, 72]);
    expect([late.most, late.fences.length, late.ascending]).toEqual([1, 36, true]);
  });

  it('negative control: without this mode the two libraries overlap', async () => {
    const key = freshKey();
    const watch = new Watch();
    const release = await oldProgram(library).acquire(key, TTL);
    // the old program is inside
    watch.inside += 1;
    await (await newProgram())[0].mutex(key).run(({ fence }) => watch.visit(fence));
    await release();
    expect(watch.most).toBe(2);
  });

  it('waits for an old holder, and an old program waits for it', async () => {
    const key = freshKey();
    const program = oldProgram(library);
    const [holdfast, { client }] = await newProgram();
    const lock = library.lock(client, key);
    const mutex = besides(holdfast, key, lock);
    const release = await program.acquire(key, TTL);
    expect(await mutex.tryAcquire()).toBeNull();
    const error = await failure(mutex.acquire({ wait: 120 }), 'HOLDFAST_TIMEOUT');
    expect(error.message).toContain(`other library has "${lock.key}"`);
    const waiting = mutex.acquire();
    await until(async () => (await holdfast.inspect(key)) !== null);
    await release();
    const lease = await waiting;
    expect([lease.held, lease.state]).toEqual([true, 'held']);
    expect(await program.tries(key, TTL)).toBe(false);
    expect(await lease.release()).toBe('freed');
    expect(await server.command('EXISTS', lock.key)).toBe(0);
    expect(await program.tries(key, 50)).toBe(true);
  });

  it('is neither handed over nor given up at a condition', async () => {
    const key = freshKey();
    const program = oldProgram(library);
    const [holdfast, { client }] = await newProgram();
    const lease = await besides(holdfast, key, library.lock(client, key)).acquire();
    expect(() => handOver(holdfast, lease)).toThrow(/lock of another library/);
    expect(() => toText(holdfast, lease)).toThrow(/lock of another library/);
    const waiting = holdfast.mutex(key).condition('c').await(lease, { wait: 10 });
    await failure(waiting, 'HOLDFAST_BAD_OPTION');
    expect([lease.held, await program.tries(key, TTL)]).toEqual([true, false]);
    expect(await lease.release()).toBe('freed');
  });

  it('renews both locks, so the old one outlives its ttl', async () => {
    const key = freshKey();
    const program = oldProgram(library);
    const [holdfast, { client }] = await newProgram();
    const lock = library.lock(client, key);
    await besides(holdfast, key, lock, { ttl: 1000 }).run(async (lease) => {
      for (let checks = 0; checks < 15; checks++) {
        await sleep(100);
        expect(await program.tries(key, TTL)).toBe(false);
      }
      expect(lease.held).toBe(true);
      expect(await lease.extend(5000)).toBeGreaterThanOrEqual(5000);
      expect(await server.command('PTTL', lock.key)).toBeGreaterThan(4900);
    });
  });

  it('loses the lease when the old lock is lost', async () => {
    const key = freshKey();
    const [holdfast, { client }] = await newProgram();
    const lock = library.lock(client, key);
    const working = besides(holdfast, key, lock, { ttl: paced(300) }).run(async (lease) => {
      await server.command('DEL', lock.key);
      const reason = await aborted(lease.signal);
      expect([lease.held, lease.state, lease.remaining]).toEqual([false, 'lost', 0]);
      expect(reason.message).toContain('the other library');
    });
    await failure(working, 'HOLDFAST_LOST');
    expect(await holdfast.inspect(key)).toBeNull();
  });

  it('loses the lease at its release if the old lock was taken over', async () => {
    const key = freshKey();
    const [holdfast, { client }] = await newProgram();
    const lock = library.lock(client, key);
    const lease = await besides(holdfast, key, lock).acquire();
    await server.command('DEL', lock.key);
    expect(await oldProgram(library).tries(key, TTL)).toBe(true);
    expect(await lease.release()).toBe('lost');
    expect(await server.command('EXISTS', lock.key)).toBe(1);
  });

  it('after a crash the old lock expires, and the lease ends before that', async () => {
    const key = freshKey();
    const program = oldProgram(library);
    const [holdfast, one] = await newProgram();
    const lease = await besides(holdfast, key, library.lock(one.client, key)).acquire({ ttl: 300 });
    // no renewal leaves this process any more
    await one.close();
    const release = await program.acquire(key, TTL);
    expect([lease.held, lease.signal.aborted]).toEqual([false, true]);
    await release();
  });

  it('leaves the old lock to its expiry when the Holdfast lease is lost', async () => {
    const key = freshKey();
    const [holdfast, { client }] = await newProgram();
    const lock = library.lock(client, key);
    const lease = await besides(holdfast, key, lock).acquire({ ttl: 600 });
    expect((await holdfast.forceRelease(key)).ended).toBe(1);
    await aborted(lease.signal);
    expect(await server.command('EXISTS', lock.key)).toBe(1);
    await until(async () => (await server.command('EXISTS', lock.key)) === 0);
    expect(await lease.release()).toBe('lost');
  });

  it('close releases both locks; a signal ends the wait', async () => {
    const key = freshKey();
    const [[holdfast, { client }], [other, { client: second }]] = [
      await newProgram(),
      await newProgram(),
    ];
    const lock = library.lock(client, key);
    const lease = await besides(holdfast, key, lock).acquire();
    await holdfast.close({ grace: 0 });
    expect(lease.signal.aborted).toBe(true);
    await until(async () => (await server.command('EXISTS', lock.key)) === 0);
    const release = await oldProgram(library).acquire(key, TTL);
    const stop = new AbortController();
    const mutex = besides(other, key, library.lock(second, key));
    const aborting = failure(mutex.acquire({ signal: stop.signal }), 'HOLDFAST_ABORTED');
    await until(async () => (await other.inspect(key)) !== null);
    stop.abort();
    await aborting;
    const closing = failure(mutex.acquire(), 'HOLDFAST_CLOSED');
    await until(async () => (await other.inspect(key)) !== null);
    await other.close();
    await closing;
    await release();
  });
});

describe('a lock of redlock on three servers', () => {
  it('excludes its programs, also while one server is down', async () => {
    const [holdfast] = await newProgram();
    const three = await membersOf(3);
    const clients = await Promise.all(three.map((one) => openClient('ioredis-6', one)));
    opened.push(...clients);
    const key = freshKey();
    const program = redlockProgram(three);
    programs.push(program);
    const lock = redlock(
      clients.map(({ client }) => client),
      key,
    );
    const mutex = besides(holdfast, key, lock);
    const release = await program.acquire(key, TTL);
    expect(await mutex.tryAcquire()).toBeNull();
    await release();
    (three[2] as Server).pause();
    await mutex.run(async (lease) => {
      expect(await program.tries(key, TTL)).toBe(false);
      expect(await lease.extend(TTL)).toBeGreaterThanOrEqual(TTL);
    });
    (three[2] as Server).resume();
  });

  it('leaves nothing at a minority of the servers after a refusal', async () => {
    const [holdfast] = await newProgram();
    const three = await membersOf(3);
    const clients = await Promise.all(three.map((one) => openClient('ioredis-6', one)));
    opened.push(...clients);
    const key = freshKey();
    const lock = redlock(
      clients.map(({ client }) => client),
      key,
    );
    const [free, ...taken] = three as [Server, ...Server[]];
    for (const one of taken) await one.command('SET', lock.key, 'another', 'PX', TTL);
    expect(await besides(holdfast, key, lock).tryAcquire()).toBeNull();
    await until(async () => (await free.command('EXISTS', lock.key)) === 0, { within: TTL / 2 });
  });
});

describe('a lease of both locks', () => {
  it('is released with options, and wrong ones change nothing', async () => {
    const [holdfast, { client }] = await newProgram();
    const key = freshKey();
    const lock = redlock(client, `${key} old`);
    const lease = await besides(holdfast, key, lock).acquire();
    const wrong = { signal: 'x' } as unknown as { signal: AbortSignal };
    await failure(lease.release(wrong), 'HOLDFAST_BAD_OPTION');
    expect(await server.command('EXISTS', lock.key)).toBe(1);
    expect(await lease.release({ signal: new AbortController().signal })).toBe('freed');
    expect(await lease.release()).toBe('freed');
    expect(await server.command('EXISTS', lock.key)).toBe(0);
  });

  it('checks an extension before it extends the other lock', async () => {
    const [holdfast, { client }] = await newProgram();
    const key = freshKey();
    const lock = redlock(client, `${key} old`);
    const terms = { ttl: 5000, maxHold: 20_000 };
    const lease = await besides(holdfast, key, lock).acquire(terms);
    await failure(lease.extend(60_000), 'HOLDFAST_BAD_OPTION');
    const wrong = { signal: 'x' } as unknown as { signal: AbortSignal };
    await failure(lease.extend(19_000, wrong), 'HOLDFAST_BAD_OPTION');
    const signal = AbortSignal.abort();
    await failure(lease.extend(19_000, { signal }), 'HOLDFAST_ABORTED');
    expect(await server.command('PTTL', lock.key)).toBeLessThanOrEqual(5000);
    await lease.release();
  });

  it('of an answer that took longer than the lock is an outage, and no refusal', async () => {
    const [, { client }] = await newProgram();
    const holdfast = made.add(new Holdfast(memory(), { requestTimeout: paced(5000) }));
    const key = freshKey();
    const lock = redlock(client, key);
    server.pause();
    const attempt = later(besides(holdfast, key, lock).tryAcquire({ ttl: 300 }));
    await sleep(600);
    server.resume();
    await failure(attempt, 'HOLDFAST_UNREACHABLE');
    await until(async () => (await server.command('EXISTS', key)) === 0, { within: 5000 });
  });
});

describe('options', () => {
  it('refuses what has no meaning beside another library', async () => {
    const [holdfast, { client }] = await newProgram();
    const lock = redisson(client, 'a');
    const bad = { code: 'HOLDFAST_BAD_OPTION' };
    for (const [option, options] of [
      ['sharedBy', { sharedBy: 'me' }],
      ['renew', { renew: false }],
      ['reentrant', { reentrant: true }],
    ] as const) {
      expect(() => besides(holdfast, 'a', lock, options as object)).toThrow(
        expect.objectContaining({ ...bad, option }),
      );
    }
    expect(() => besides(holdfast, 'a', {} as never)).toThrow(expect.objectContaining(bad));
    expect(() => besides({} as never, 'a', lock)).toThrow(expect.objectContaining(bad));
    expect(() => redlock([], 'a')).toThrow(expect.objectContaining({ ...bad, option: 'clients' }));
    expect(() => redlock(42 as never, 'a')).toThrow(expect.objectContaining(bad));
  });

  it('reports a key of another type', async () => {
    const [holdfast, { client }] = await newProgram();
    const key = freshKey();
    await server.command('SADD', key, 'x');
    const mutex = besides(holdfast, key, redlock(client, key));
    await failure(mutex.acquire(), 'HOLDFAST_REFUSED');
    expect(await holdfast.inspect(key)).toBeNull();
  });
});
