/** A quorum of real servers: killed, frozen and restarted servers, refusals, and the script. */
import { paced, type Server, startServer, until } from 'holdfast-testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { portFor } from '../../src/store/clients/detect.js';
import type { Acceptor, Vote } from '../../src/store/quorum/acceptor.js';
import { MemoryAcceptor } from '../../src/store/quorum/memory-acceptor.js';
import { RedisAcceptor } from '../../src/store/quorum/redis-acceptor.js';
import { type Holdfast, quorum } from '../../src/index.js';
import {
  Made,
  membersOf,
  openClient,
  openClients,
  stopServersAfterwards,
} from '../support/backends.js';
import { compareStays } from '../support/compare-stays.js';
import { randomOf } from '../support/seeded-random.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { failure, freshKey, later, Watch } from '../suites/helpers.js';

const made = new Made();
const SHORT = {
  ...{ ttl: paced(500), claimWindow: paced(200) },
  ...{ retention: paced(1000), unreachableAfter: paced(2000) },
};
/** The time without an answer after which a server is not waited for. */
const TIMEOUT = paced(100);
/** All servers answer in time. */
const PATIENT = { durable: true, serverTimeout: 10_000 };
let servers: Server[] = [];

beforeAll(async () => {
  servers = await membersOf(5);
});
afterEach(() => made.close());
stopServersAfterwards();

const open = (count = 5, settings: object = { durable: true }): Promise<Holdfast> =>
  made.across(openClients(servers.slice(0, count)), SHORT, { serverTimeout: TIMEOUT, ...settings });

/** Takes and releases a lock. */
async function use(holdfast: Holdfast): Promise<void> {
  await holdfast.mutex(freshKey()).run(() => undefined);
}

it('a frozen server of five does not delay a list', { timeout: paced(30_000) }, async () => {
  const long = {
    ttl: 60_000,
    claimWindow: 60_000,
    retention: 600_000,
    requestTimeout: paced(60_000),
  };
  const settings = { serverTimeout: TIMEOUT, durable: true };
  const one = await made.across(openClients(servers), long, settings);
  const keys = Array.from({ length: 20 }, () => freshKey()).sort();
  const leases = await Promise.all(keys.map((key) => one.mutex(key).acquire()));
  const listed = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const { key } of one.list()) if (keys.includes(key)) found.push(key);
    return found.sort();
  };
  expect(await listed()).toEqual(keys);
  const frozen = servers[2] as Server;
  frozen.pause();
  try {
    // a list that waited for its reply would end with the test, or after `requestTimeout`
    expect(await listed()).toEqual(keys);
  } finally {
    frozen.resume();
  }
  await Promise.all(leases.map((lease) => lease.release()));
});

describe('two of five servers', () => {
  /** Two processes contend while two servers fail; the counts of each must grow. */
  async function contend(fail: () => Promise<void>): Promise<void> {
    const [one, other] = [await open(), await open()];
    const [watch, key] = [new Watch(), freshKey()];
    let over = false;
    const work = [one, other].map(async (holdfast) => {
      while (!over) await holdfast.mutex(key).run(({ fence }) => watch.visit(fence));
    });
    const all = later(Promise.all(work));
    await until(() => watch.fences.length > 20);
    await fail();
    const before = watch.fences.length;
    await until(() => watch.fences.length > before + 40).finally(() => {
      over = true;
    });
    await all;
    expect(watch).toMatchObject({ most: 1, ascending: true });
    await use(one);
  }

  it('killed leave the lock usable, and exclusive', async () => {
    const killed = servers.slice(0, 2);
    try {
      await contend(async () => {
        await Promise.all(killed.map((server) => server.kill()));
      });
    } finally {
      await Promise.all(killed.map((server) => server.restart()));
    }
  });

  it('frozen leave the lock usable, and exclusive', async () => {
    const frozen = [servers[1], servers[4]] as Server[];
    await contend(async () => {
      for (const server of frozen) server.pause();
    }).finally(() => {
      for (const server of frozen) server.resume();
    });
  });
});

it('three of five frozen servers make it unreachable, and the error names them', async () => {
  const holdfast = await open();
  await use(holdfast);
  const frozen = servers.slice(2);
  for (const server of frozen) server.pause();
  try {
    await until(async () => {
      const error = await failure(holdfast.mutex(freshKey()).acquire(), 'HOLDFAST_UNREACHABLE');
      // on a busy machine one of the others may be late
      expect(error.message).toMatch(/2 of 5 servers agreed, and 3 must.*server 3 did not answer/);
      return true;
    });
  } finally {
    for (const server of frozen) server.resume();
  }
  const isUsed = (): Promise<boolean> => use(holdfast).then(() => true);
  await until(isUsed);
});

describe('a server that restarts without its memory', () => {
  /**
   * A lease is on servers 1 and 2 only; server 2 forgets it; then servers 2 and 3 alone are there.
   * Resolves to true if a second lease is granted while the first one is held.
   * @param saved server 2 has an older snapshot, and another prefix is in use on it
   */
  async function grantedTwice(settings: object, saved = false): Promise<boolean> {
    const trio = await Promise.all([0, 1, 2].map(() => startServer({ server: 'redis' })));
    const [first, second, third] = trio as [Server, Server, Server];
    const connect = async (withoutThird = false): Promise<Holdfast> => {
      const where = { host: third.host, port: withoutThird ? 1 : third.port };
      const clients = [
        ...(await openClients([first, second])),
        await openClient('ioredis-6', { ...where, offline: withoutThird }),
      ];
      const terms = { serverTimeout: TIMEOUT, ...settings };
      return made.across(Promise.resolve(clients), SHORT, terms);
    };
    try {
      // the servers are new, so they are marked by a process that trusts them, and ends
      const trusting = await made.across(openClients(trio), SHORT, {
        serverTimeout: TIMEOUT,
        durable: true,
      });
      await use(trusting);
      await trusting.close();
      if (saved) await second.command('SAVE');
      const [one, other] = [await connect(true), await connect()];
      const key = freshKey();
      const lease = await one.mutex(key).acquire({ ttl: 20_000 });
      await second.restart();
      if (saved) {
        const neighbour = { ...SHORT, prefix: 'neighbour:' };
        const terms = { serverTimeout: TIMEOUT, ...settings };
        const next = await made.across(openClients(trio), neighbour, terms);
        await next
          .mutex(key)
          .tryAcquire()
          .catch(() => null);
      }
      first.pause();
      const again = await other
        .mutex(key)
        .acquire({ wait: paced(1500) })
        .catch(() => null);
      const twice = again !== null && lease.held;
      first.resume();
      return twice;
    } finally {
      await made.close();
      await Promise.all(trio.map((server) => server.stop()));
    }
  }

  it('does not vote until its old votes have ended', async () => {
    expect(await grantedTwice({ restartGuard: 60_000 })).toBe(false);
  });

  it('does not vote by the marker of an older snapshot', async () => {
    expect(await grantedTwice({ restartGuard: 60_000 }, true)).toBe(false);
  });

  it('control: without the guard there are two holders', async () => {
    expect(await grantedTwice({ restartGuard: 0 })).toBe(true);
  });
});

it('leases are renewed and released while the memory of the servers is full', async () => {
  const holdfast = await open(3, PATIENT);
  const [held, other] = [freshKey(), freshKey()];
  const lease = await holdfast.mutex(held).acquire();
  await holdfast.mutex(other).acquire({ ttl: 60_000 });
  const full = servers.slice(0, 3);
  for (const server of full) await server.command('CONFIG', 'SET', 'maxmemory', '1');
  try {
    await lease.extend(20_000);
    await lease.extend(30_000);
    await lease.release();
    expect((await holdfast.inspect(held))?.holderCount ?? 0).toBe(0);
    const error = await failure(holdfast.mutex(freshKey()).acquire(), 'HOLDFAST_UNREACHABLE');
    expect(error.message).toMatch(/server 1 failed \(.*OOM/);
  } finally {
    for (const server of full) await server.command('CONFIG', 'SET', 'maxmemory', '0');
  }
});

describe('at the first use', () => {
  const refused = async (clients: Promise<object[]>, text: RegExp): Promise<void> => {
    const opened = (await clients) as Awaited<ReturnType<typeof openClients>>;
    const holdfast = await made.across(Promise.resolve(opened), SHORT, PATIENT);
    const error = await failure(holdfast.mutex(freshKey()).tryAcquire(), 'HOLDFAST_REFUSED');
    expect(error.message).toMatch(text);
  };

  it('two clients of one server are refused', async () => {
    const [first, second] = servers as [Server, Server];
    await refused(openClients([first, second, second]), /server 2.* are the same server/);
  });

  it('a replica of another member is refused', async () => {
    const [first, second, third] = servers as [Server, Server, Server];
    // otherwise the first waits five seconds for further replicas
    await first.command('CONFIG', 'SET', 'repl-diskless-sync-delay', '0');
    await third.command('REPLICAOF', first.host, first.port);
    try {
      await refused(openClients([first, second, third]), /server 3 is a replica/);
    } finally {
      await third.command('REPLICAOF', 'NO', 'ONE');
    }
  });

  it('a node of a cluster is refused, whether it has the slot of the marker or not', async () => {
    const node = await startServer({ server: 'redis', args: ['--cluster-enabled', 'yes'] });
    const [first, second] = servers as [Server, Server];
    try {
      await refused(openClients([first, second, node]), /server 3 is a node of a Redis Cluster/);
      await node.command('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
      await until(async () =>
        /cluster_state:ok/.test(String(await node.command('CLUSTER', 'INFO'))),
      );
      await refused(openClients([first, second, node]), /server 3 is a node of a Redis Cluster/);
    } finally {
      await made.close();
      await node.stop();
    }
  });

  it('a server that evicts keys is refused', async () => {
    const [first] = servers as [Server];
    await first.command('CONFIG', 'SET', 'maxmemory', '1gb', 'maxmemory-policy', 'allkeys-lru');
    try {
      await refused(openClients(servers), /server 1 removes keys.*noeviction/);
    } finally {
      await first.command('CONFIG', 'SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction');
    }
  });

  it('new servers do not vote before the guard is over, and the error says so', async () => {
    const holdfast = await made.across(
      openClients(servers),
      { ...SHORT, prefix: 'new:' },
      {
        restartGuard: 86_400_000,
      },
    );
    const error = await failure(holdfast.mutex(freshKey()).acquire(), 'HOLDFAST_UNREACHABLE');
    expect(error.message).toMatch(/server 1 has no memory of earlier votes .* votes in \d+ s/);
  });
});

it.each([
  ['an even number', 2],
  ['one client', 1],
])('%s is refused', async (_, count) => {
  const clients = await openClients(servers.slice(0, count));
  try {
    expect(() => quorum(clients.map(({ client }) => client))).toThrow(/an odd number of clients/);
  } finally {
    await Promise.all(clients.map((one) => one.close()));
  }
});

describe('the script and the acceptor in memory', () => {
  let opened: Awaited<ReturnType<typeof openClient>>;
  afterAll(() => opened.close());

  it('give the same votes', async () => {
    const [server] = servers as [Server];
    opened = await openClient('ioredis-6', server);
    const clock = new VirtualClock();
    const real = new RedisAcceptor(portFor(opened.client), `marker ${freshKey()}`);
    const memory = new MemoryAcceptor('m', clock, 3_600_000);
    const both: Acceptor[] = [real, memory];
    const random = randomOf(7);
    const keys = [freshKey(), freshKey()];
    const late = freshKey();
    const seen = new Set<string>();
    const shown = (vote: Vote): string => {
      const { time: _time, until: _until, ...rest } = vote as Vote & { time?: 0; until?: 0 };
      seen.add(vote.status);
      if (vote.status === 'no' && vote.kept) seen.add('kept');
      if (vote.status === 'yes' && vote.left !== '') seen.add('left');
      return JSON.stringify(rest, Object.keys(rest).sort());
    };
    const compare = async (ask: (acceptor: Acceptor) => Promise<Vote>): Promise<void> => {
      const [one, other] = (await Promise.all(both.map(ask))) as [Vote, Vote];
      expect(shown(one)).toBe(shown(other));
    };
    await compare((one) => one.prepare(keys[0] as string, '5', 1000));
    for (const one of both) {
      const { boot } = await one.check({ durable: false });
      if (one === real) one.boot = boot;
      const long = [[late, 90_000]] as const;
      const decision = { boot, from: 60_000, mark: 5e6, long, partial: true };
      // decided for another boot
      await one.check({ durable: false, decision: { ...decision, boot: `not ${boot}` } });
      expect((await one.check({ durable: false })).votesFrom).toBe(undefined);
      await one.check({ durable: false, decision });
      const status = await one.check({ durable: false, long: true });
      expect(status).toMatchObject({ votesFrom: 60_000, mark: 5e6, long, partial: true });
    }
    const value = { next: '8', value: 'v', messages: [], fence: 1, grows: true };
    const accepts = (key: string, ballot: string, keep: number): Promise<void> => {
      const proposal = { ...value, ballot, now: 60_000, keep };
      return compare((one) => one.accept(key, proposal));
    };
    const lasting = freshKey();
    await accepts(lasting, '6', 180_001);
    await accepts(lasting, '6', 180_000);
    for (const one of both) {
      const { boot } = await one.check({ durable: false });
      const whole = { boot, from: 90_000, mark: 4e6, long: [['l', 70_000]] as const };
      await one.check({ durable: false, decision: { ...whole, partial: false } });
      // a late decision
      await one.check({ durable: false, decision: { ...whole, partial: true } });
      const { votesFrom, mark, partial } = await one.check({ durable: false });
      expect({ votesFrom, mark, partial }).toEqual({
        votesFrom: 60_000,
        mark: 5e6,
        partial: false,
      });
    }
    await accepts(lasting, '7', 180_001);
    await compare((one) => one.prepare('l', '6', 60_000));
    await compare((one) => one.prepare(keys[0] as string, '5', 1000));
    // by the clock of the quorum, not by its own
    await compare((one) => one.prepare(`other ${keys[0]}`, '6', 60_000));
    // for this key, later
    await compare((one) => one.prepare(late, '6', 60_000));
    await compare((one) => one.prepare(late, '6', 90_000));
    await server.command('DEL', `marker ${keys[0]}`);
    await server.command(
      'EVAL',
      "for _, k in ipairs(redis.call('KEYS', 'marker *')) do redis.call('DEL', k) end return 1",
      0,
    );
    memory.empty();
    for (const one of both) await one.check({ durable: true });
    for (let step = 0; step < 400; step++) {
      const key = keys[Math.floor(random() * 2)] as string;
      const ballot = `${Math.floor(random() * 900) + 100 + step}`.padStart(5, '0');
      if (random() < 0.5) {
        await compare((one) => one.prepare(key, ballot, 0));
        await compare((one) => one.look(key, 0));
      } else {
        const next = `${Number(ballot) + 1}`.padStart(5, '0');
        const [keep, fence] = [random() < 0.2 ? 600_000 : 60_000, Math.floor(random() * 1e8)];
        const grows = random() < 0.5;
        const about = { grows, ballot, now: 0, next, messages: [] };
        const proposal = { ...about, value: `v${step}`, keep, fence };
        await compare((one) => one.accept(key, proposal));
        if (random() < 0.2) await compare((one) => one.accept(key, proposal));
      }
    }
    await compareStays(both, compare);
    expect([...seen].sort()).toEqual(['guarded', 'kept', 'left', 'no', 'unmarked', 'yes']);
    const known = both.map(async (one) => {
      const { keeps, mark, long } = await one.check({ durable: true, long: true });
      return { keeps, mark, long: Object.fromEntries(long) };
    });
    const [real2, memory2] = await Promise.all(known);
    expect(real2).toEqual(memory2);
  });
});
