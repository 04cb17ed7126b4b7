/**
 * Servers that answer with an error: the code of ours, when it comes, and what the message says to
 * do. `docs/operations.md` has the same table, which this file reads.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { paced, type Server, type ServerName, sleep, startServer, until } from 'holdfast-testkit';
import { afterEach, describe, expect, it } from 'vitest';
import type { Holdfast, Lease } from '../../src/index.js';
import { type ClientName, Made, openClient } from '../support/backends.js';
import { failure } from '../suites/helpers.js';

const CASES = [
  ['redis', 'ioredis-6'],
  ['valkey', 'node-redis-6'],
] as const satisfies [ServerName, ClientName][];
const PATIENCE = { ttl: 1000, claimWindow: 100, requestTimeout: 500, unreachableAfter: 600 };
/** An answer of a busy machine still comes in time. */
const PATIENT = { ...PATIENCE, requestTimeout: 5000, unreachableAfter: 6000 };
/** The processes of a queue in which polls need `+zrank`; each holds the lock for a moment. */
const CROWD = 16;
const CROWD_HOLD_MS = 300;
/** How long the queue lasts without a refusal. */
const CROWD_MS = 10_000;
/** The users that try everything at the same time: more would hold up each other's timers. */
const TOGETHER = 8;
const guide = (file: string): string =>
  readFileSync(new URL(`../../../../${file}`, import.meta.url), 'utf8');

/** The rights of the user in `SECURITY.md`. */
const RIGHTS = (/ACL SETUSER locks on >PASSWORD ([^`]+)```/u.exec(guide('SECURITY.md'))?.[1] ?? '')
  .trim()
  .split(/\s+/u);
/** The code of ours for each code of the server, in `docs/operations.md`. */
const TABLE = new Map(
  [...guide('docs/operations.md').matchAll(/^\| `([A-Z]+)` \| `(HOLDFAST_\w+)`/gmu)].map(
    ([, theirs, ours]) => [theirs as string, ours as string],
  ),
);

const made = new Made();
afterEach(() => made.close());

describe.each(CASES)('%s, %s', (name, client) => {
  const connect = (server: Server, login: object = {}, terms = PATIENCE): Promise<Holdfast> =>
    made.on(openClient(client, { host: server.host, port: server.port, ...login }), terms);

  /** An attempt fails at once, and a wait after `unreachableAfter`; both with the advice. */
  async function passing(holdfast: Holdfast, theirs: string, advice: string): Promise<void> {
    const code = 'HOLDFAST_UNREACHABLE';
    expect(TABLE.get(theirs)).toBe(code);
    for (const call of [
      () => holdfast.mutex('k').tryAcquire(),
      () => holdfast.mutex('k').acquire(),
    ]) {
      const { message, cause } = await failure(call(), code);
      expect(message).toContain(advice);
      expect(message).toContain('the store refuses commands now');
      expect((cause as Error).message).toMatch(new RegExp(`^${theirs}`, 'u'));
    }
  }

  it('a replica', async () => {
    await using main = await startServer({
      server: name,
      args: ['--repl-diskless-sync-delay', '0'],
    });
    const args = ['--replicaof', main.host, `${main.port}`];
    await using replica = await startServer({ server: name, args });
    const online = async (): Promise<boolean> =>
      String(await replica.command('INFO')).includes('link_status:up');
    await until(online, { within: 15_000 });
    await passing(await connect(replica), 'READONLY', 'connect the client to the primary');
    await made.close();
  });

  it('a node of a cluster that does not serve its slots', async () => {
    await using server = await startServer({ server: name, args: ['--cluster-enabled', 'yes'] });
    await passing(await connect(server), 'CLUSTERDOWN', 'see CLUSTER INFO');
    await made.close();
  });

  it('a server that cannot save its data', async () => {
    await using server = await startServer({ server: name, args: ['--save', '3600', '1'] });
    const [, folder] = (await server.command('CONFIG', 'GET', 'dir')) as [string, string];
    const [, file] = (await server.command('CONFIG', 'GET', 'dbfilename')) as [string, string];
    mkdirSync(join(folder, file));
    await server.command('BGSAVE');
    const failed = async (): Promise<boolean> =>
      String(await server.command('INFO')).includes('rdb_last_bgsave_status:err');
    await until(failed, { within: 15_000 });
    await passing(await connect(server), 'MISCONF', 'see its log and its disk');
    await made.close();
  });

  it('a server without the replicas that it needs', async () => {
    await using server = await startServer({ server: name });
    await server.command('CONFIG', 'SET', 'min-replicas-to-write', '1');
    await passing(await connect(server), 'NOREPLICAS', 'see min-replicas-to-write');
    await made.close();
  });

  it('a server without memory', async () => {
    await using server = await startServer({ server: name });
    await server.command('CONFIG', 'SET', 'maxmemory', '1');
    const { message } = await failure((await connect(server)).mutex('k').acquire(), refused);
    expect(message).toMatch(/OOM.*raise maxmemory/u);
    expect(TABLE.get('OOM')).toBe(refused);
    await made.close();
  });

  it('each right that the user lacks is named', { timeout: paced(60_000) }, async () => {
    await using server = await startServer({ server: name });
    expect(TABLE.get('NOPERM')).toBe(refused);
    const rights = RIGHTS.filter((one) => /^[+~&]/u.test(one) && !SILENT.has(one));
    expect(rights.length).toBeGreaterThan(20);
    const connected = rights.map(async (right) => {
      const [username, rest] = [`without ${right}`, RIGHTS.filter((one) => one !== right)];
      const words = [username.replaceAll(' ', '_'), 'on', '>pw', ...rest];
      await server.command('ACL', 'SETUSER', ...words);
      return connect(server, { username: words[0], password: 'pw' }, PATIENT);
    });
    const instances = await Promise.all(connected);
    await server.command('SCRIPT', 'FLUSH');
    // before a user with all rights loads the scripts
    const evaluating = rights.indexOf('+eval');
    const first = await everything(instances[evaluating] as Holdfast, 'first');
    const messages: string[][] = [];
    while (messages.length < instances.length) {
      const from = messages.length;
      const trials = instances.slice(from, from + TOGETHER).map(async (one, at) => {
        const key = `${from + at}`;
        const found = from + at === evaluating ? first : await everything(one, key);
        if (rights[from + at] !== '+zrank') return found;
        const login = { username: 'without_+zrank', password: 'pw' };
        const some = Array.from({ length: CROWD }, () => connect(server, login, PATIENT));
        return [...found, ...(await crowd(await Promise.all(some), key))];
      });
      messages.push(...(await Promise.all(trials)));
    }
    const unnamed = rights.filter(
      (right, at) => !messages[at]?.some((one) => one.includes(`needs ${right}; see SECURITY`)),
    );
    await Promise.all(instances.map((one) => one.close({ grace: 0 })));
    expect(unnamed).toEqual([]);
    // a user with all of them has no failure but the ends of its waits
    const whole = RIGHTS.filter((one) => one !== '+publish');
    await server.command('ACL', 'SETUSER', 'whole', 'on', '>pw', ...whole, '+publish');
    const login = { username: 'whole', password: 'pw' };
    const all = await everything(await connect(server, login, PATIENT), '');
    expect(all.filter((one) => one.includes('needs'))).toEqual([]);
    await made.close();
  });
});

const refused = 'HOLDFAST_REFUSED';

/** Without these, Holdfast works, more slowly; or the client itself needs them. */
const SILENT = new Set([
  ...['+publish', '+pubsub|numsub', '+unsubscribe', '+info', '+ping', '+select'],
  ...['+client|setname', '+zpopmin'],
]);

/** The messages of all failures when all primitives are used. */
async function everything(holdfast: Holdfast, key: string): Promise<string[]> {
  const messages: string[] = [];
  const trying = async (call: () => Promise<unknown>): Promise<void> => {
    try {
      await call();
    } catch (error) {
      messages.push((error as Error).message);
    }
  };
  const mutex = holdfast.mutex(`k${key}`);
  const take = async (call: () => Promise<Lease>): Promise<Lease | undefined> => {
    let lease: Lease | undefined;
    await trying(async () => {
      lease = await call();
    });
    return lease;
  };
  const lease = await take(() => mutex.acquire());
  const second = await take(() => holdfast.mutex(`second${key}`, { sharedBy: 'me' }).acquire());
  const third = await take(() => holdfast.mutex(`second${key}`, { sharedBy: 'me' }).acquire());
  // renewed together
  const short = [0, 1].map((n) => {
    return take(() => holdfast.mutex(`short${n}${key}`).acquire({ ttl: 300 }));
  });
  // three waiters: one of them leaves the queue, and the holder parks before the next is granted
  const waits = Array.from({ length: 3 }, (_, n) =>
    trying(async () => {
      const next = await holdfast
        .mutex(`k${key}`, { fair: true })
        .acquire({ wait: n === 0 ? 50 : 500 });
      await trying(() => mutex.condition('c').signal(next));
      await next.release();
    }),
  );
  await trying(() => holdfast.warmUp());
  await trying(async () => lease?.extend(1500));
  await trying(() => holdfast.inspect(`k${key}`));
  await trying(async () => lease && mutex.condition('c').await(lease, { wait: 300 }));
  await Promise.all(waits);
  for (const one of await Promise.all(short)) await trying(async () => one?.assertHeld());
  for (const one of [lease, second, third]) await trying(async () => one?.release());
  const rw = holdfast.rwLock(`rw${key}`);
  await trying(() => rw.write.run((writer) => writer.downgrade()));
  await trying(() => rw.read.run((reader) => reader.tryUpgrade()));
  const semaphore = holdfast.semaphore(`s${key}`, { permits: 2 });
  await trying(() => semaphore.run(() => semaphore.setPermits(3)));
  await trying(() => mutex.run(() => holdfast.forceRelease(`k${key}`)));
  const latch = holdfast.latch(`l${key}`, { count: 1 });
  await trying(() => latch.await({ wait: 250 }));
  await trying(() => latch.countDown());
  await trying(() => latch.reset());
  await trying(() => holdfast.barrier(`b${key}`, { parties: 2 }).await({ wait: 250 }));
  await trying(async () => {
    for await (const _ of holdfast.list()) continue;
  });
  return messages;
}

/**
 * The refusals in a queue of many processes that moves. The store looks up the place of those that
 * have paused, far from the head. The first refusal ends it.
 */
async function crowd(instances: readonly Holdfast[], key: string): Promise<string[]> {
  const ended = new AbortController();
  const { signal } = ended;
  const timer = setTimeout(() => ended.abort(), CROWD_MS);
  const refusals: string[] = [];
  const wait = async (one: Holdfast): Promise<void> => {
    try {
      const lease = await one.semaphore(`crowd${key}`, { permits: 1 }).acquire(1, { signal });
      await sleep(CROWD_HOLD_MS);
      await lease.release();
    } catch (error) {
      if (signal.aborted) return;
      refusals.push((error as Error).message);
      ended.abort();
    }
  };
  await Promise.all(instances.map(wait));
  clearTimeout(timer);
  return refusals;
}
