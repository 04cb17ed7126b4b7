/**
 * `holdfast plan` beside real loads: commands, memory of the servers and connections differ by at
 * most a quarter. The processor time is compared by `npm run bench -- --scale --plans`, because a
 * test asserts no speed.
 */
import { Holdfast, type HoldfastOptions, type Lease, quorum } from 'holdfast';
import { paced, type Server, sleep, startServer, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { COSTS } from '../../src/plan/measured.js';
import { type Load, plan } from '../../src/plan/plan.js';
import { cli } from '../cli.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function servers(count: number): Promise<Server[]> {
  const all = await Promise.all(
    Array.from({ length: count }, () => startServer({ server: 'redis' })),
  );
  ends.push(() => Promise.all(all.map((one) => one.stop())));
  return all;
}

const all = async (work: readonly Promise<unknown>[]): Promise<void> =>
  void (await Promise.all(work));

/** Instances with connections of their own, as in as many processes. */
async function processes(
  on: readonly Server[],
  count: number,
  options: HoldfastOptions = {},
): Promise<Holdfast[]> {
  const instances = Array.from({ length: count }, () => {
    const clients = on.map(({ url }) => new Redis(url).on('error', () => undefined));
    const store = on.length > 1 ? quorum(clients, { durable: true }) : (clients[0] as Redis);
    const holdfast = new Holdfast(store, options);
    ends.push(async () => {
      await holdfast.close({ grace: 0 });
      for (const client of clients) client.disconnect();
    });
    return holdfast;
  });
  // connections and scripts are there
  await Promise.all(
    instances.map((one, at) => one.mutex(`first ${at}`).run(async () => undefined)),
  );
  return instances;
}

/**
 * Each holds a lease for long and listens. Later leases name its channel when they are requested;
 * earlier ones cost a command more.
 */
async function listening(instances: readonly Holdfast[]): Promise<void> {
  await all(instances.map((one, at) => one.mutex(`long ${at}`).acquire()));
  const pushes = (): boolean => instances.every((one) => one.stats().pushes);
  await until(pushes, { within: 20_000, every: 10, what: 'a wake channel of each' });
}

interface Seen {
  /** Commands and bytes of all servers, and connections without those of the test. */
  readonly commands: number;
  readonly memory: number;
  readonly connections: number;
}

async function read(on: readonly Server[]): Promise<Seen> {
  const all = await Promise.all(
    on.map(async (server) => {
      const stats = await server.commandstats();
      const info = String(await server.command('INFO', 'memory', 'clients'));
      const field = (name: string): number =>
        Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1]);
      const calls = ['evalsha', 'eval', 'evalsha_ro', 'eval_ro'].map(
        (name) => stats.get(name)?.calls,
      );
      return {
        commands: calls.reduce<number>((sum, one) => sum + (one ?? 0), 0),
        memory: field('used_memory'),
        connections: field('connected_clients') - 1,
      };
    }),
  );
  const sum = (name: keyof Seen): number => all.reduce((total, one) => total + one[name], 0);
  return { commands: sum('commands'), memory: sum('memory'), connections: sum('connections') };
}

/** From and to the clients. */
async function bytesOf(server: Server): Promise<number> {
  const info = String(await server.command('INFO', 'stats'));
  const fields = info.matchAll(/^total_net_(?:in|out)put_bytes:(\d+)/gm);
  return [...fields].reduce((sum, [, bytes]) => sum + Number(bytes), 0);
}

const LOAD: Load = {
  ...{ topology: 'one', processes: 1, locks: 0, rate: 0, hold: 0, ttl: 10_000, contended: 0 },
  ...{ waiters: 0, hotKeys: 1, keys: 0, servers: undefined, memory: 1e9 },
};

const TOLERANCE = 0.25;
/** A plan that is wrong is wrong at each time; one time may fall into a busy moment. */
const TIMES_MAX = 5;
const LONG = { timeout: paced(180_000) };
const LONG_TTL = 600_000;

/** The figures of the plan that are far from what was seen. */
function far(planned: Partial<Seen>, seen: Seen): string[] {
  return (Object.keys(planned) as (keyof Seen)[])
    .filter((name) => Math.abs((planned[name] ?? 0) / seen[name] - 1) > TOLERANCE)
    .map((name) => `${name}: planned ${planned[name]}, seen ${seen[name]}`);
}

/** The differences of the first time that has none, or of the last time. */
async function onceNear(differences: () => Promise<string[]>): Promise<string[]> {
  let found = await differences();
  for (let times = 1; found.length > 0 && times < TIMES_MAX; times++) found = await differences();
  return found;
}

/** What the plan says of a load that has lasted for `ms`. */
function planned(load: Partial<Load>, ms = 1000): Seen {
  const { commands, connections, serverMemory } = plan({ ...LOAD, ...load });
  return { commands: (commands * ms) / 1000, memory: serverMemory, connections };
}

const since = (before: Seen, after: Seen): Seen => ({
  ...{ commands: after.commands - before.commands, memory: after.memory },
  connections: after.connections,
});

describe('plan', () => {
  it('of free locks', async () => {
    const on = await servers(1);
    const instances = await processes(on, 10);
    const before = await read(on);
    const start = await bytesOf(on[0] as Server);
    const loop = async (one: Holdfast, at: number): Promise<void> => {
      for (let n = 0; n < 50; n++) await one.mutex(`${at}:${n}`).run(async () => undefined);
    };
    await all(instances.map(loop));
    const bytes = (await bytesOf(on[0] as Server)) - start;
    const seen = since(before, await read(on));
    const load = { processes: 10, rate: 500, keys: 500 };
    expect(far(planned(load), seen)).toEqual([]);
    expect(Math.abs(plan({ ...LOAD, ...load }).network / bytes - 1)).toBeLessThan(TOLERANCE);
  });

  it('of a key that processes hand to each other', async () => {
    const on = await servers(1);
    const instances = await processes(on, 10);
    const loop = async (one: Holdfast): Promise<void> => {
      for (let n = 0; n < 20; n++) await one.mutex('hot').run(() => sleep(1));
    };
    await all(instances.map((one) => one.mutex('hot').run(() => sleep(1))));
    const before = await read(on);
    await all(instances.map(loop));
    const seen = since(before, await read(on));
    // memory is left out: wake connections that are seconds old have all their buffers yet
    const load = { processes: 10, rate: 200, contended: 1, hold: 1 };
    const { commands, connections } = planned(load);
    expect(far({ commands, connections }, seen)).toEqual([]);
  });

  it('of leases that are renewed', LONG, async () => {
    const on = await servers(1);
    const ttl = 4000;
    const instances = await processes(on, 2, { ttl });
    await listening(instances);
    const locks = 4000;
    for (const [at, one] of instances.entries()) {
      const keys = Array.from({ length: locks / 2 }, (_, n) => `${at}:${n}`);
      await all(keys.map((key) => one.mutex(key).acquire()));
    }
    const renewals = (): number => instances.reduce((sum, one) => sum + one.stats().renewals, 0);
    const reached = (count: number) => (): boolean => renewals() >= count;
    await until(reached(locks), { within: 20_000, every: 10, what: 'the first renewal of all' });
    const differences = async (): Promise<string[]> => {
      const [before, start] = [await read(on), renewals()];
      const end = start + 3 * locks;
      await until(reached(end), { within: 20_000, every: 10, what: 'three renewals of all' });
      const seen = since(before, await read(on));
      // the plan says when; the test counts for as long as the renewals take
      const ms = (0.55 * ttl * (renewals() - start)) / locks;
      return far(planned({ processes: 2, locks, ttl }, ms), seen);
    };
    // a connection may be replaced meanwhile
    expect(await onceNear(differences)).toEqual([]);
  });

  it('of waiters that wait for a lock that stays held', LONG, async () => {
    const on = await servers(1);
    const count = 30;
    const instances = await processes(on, count + 1, { ttl: LONG_TTL });
    await instances[0]?.mutex('waited').acquire({ renew: false });
    const gone = new AbortController();
    const calls = instances
      .slice(1)
      .map((one) =>
        one.mutex('waited').acquire({ wait: Number.POSITIVE_INFINITY, signal: gone.signal }),
      );
    const settled = Promise.allSettled(calls);
    const polls = (): number[] => instances.map((one) => one.stats().pollings);
    // each has polled, so each knows its place and its pause
    const each = (): boolean =>
      polls()
        .slice(1)
        .every((number) => number > 1);
    await until(each, { within: 30_000, every: 10, what: 'two polls of each' });
    const load = { processes: count + 1, waiters: count, locks: 1, ttl: LONG_TTL };
    const differences = async (): Promise<string[]> => {
      const [before, start] = [await read(on), polls()];
      // the places near the head poll in each claim window: their polls are the clock of the others
      const windows = (): number =>
        Math.max(...polls().map((now, at) => now - (start[at] as number)));
      await until(() => windows() >= 10, { within: 60_000, every: 10, what: '10 of the first' });
      return far(planned(load, 10_000), since(before, await read(on)));
    };
    // some waiters pause for longer while the store, or their process, is slow
    expect(await onceNear(differences)).toEqual([]);
    gone.abort();
    await settled;
  });

  it('of free locks and leases on a quorum', LONG, async () => {
    const on = await servers(3);
    const ttl = 6000;
    const instances = await processes(on, 4, { ttl });
    await listening(instances);
    const locks = 80;
    const renewals = (): number => instances.reduce((sum, one) => sum + one.stats().renewals, 0);
    const differences = async (): Promise<string[]> => {
      const [before, start] = [await read(on), renewals()];
      const leases: Lease[] = [];
      const work = async (one: Holdfast, at: number): Promise<void> => {
        for (let n = 0; n < locks / 4; n++) leases.push(await one.mutex(`${at}:${n}`).acquire());
      };
      await all(instances.map(work));
      const renewed = (): boolean => renewals() - start >= locks;
      await until(renewed, { within: 20_000, every: 10, what: 'renewals of all' });
      const seen = since(before, await read(on));
      // each acquisition is half of a pair, and each renewal has commands of its own
      const { pair, renewal } = COSTS.quorum;
      const done = renewals() - start;
      const commands = (locks / 2) * pair.commands + done * renewal.commands;
      await all(leases.map((lease) => lease.release()));
      const { connections, memory } = planned({ topology: 'quorum', processes: 4, locks, ttl });
      return far({ commands, connections, memory }, seen);
    };
    // requests are repeated while the servers, or the processes, are slow
    expect(await onceNear(differences)).toEqual([]);
  });

  it('a plan that is a third off is found', () => {
    const seen = planned({ processes: 10, rate: 500 });
    expect(far(seen, seen)).toEqual([]);
    expect(far({ commands: seen.commands * 1.33 }, seen)).toEqual([
      `commands: planned ${seen.commands * 1.33}, seen ${seen.commands}`,
    ]);
    expect(far({ memory: seen.memory * 0.7 }, seen)).toHaveLength(1);
  });
});

describe('the program', () => {
  it('prints text and JSON, and leads to 64 with the name of a wrong option', async () => {
    const args = ['plan', '--processes', '50', '--rate', '2k', '--hold', '20ms'];
    const text = await cli(args);
    expect({ code: text.code, stderr: text.stderr }).toEqual({ code: 0, stderr: '' });
    expect(text.stdout).toMatch(/^servers +1 \(one\)$/m);
    expect(text.stdout).toMatch(/^first: /m);
    const json = JSON.parse((await cli([...args, '--json'])).stdout) as { limits: object[] };
    expect(json).toMatchObject({ servers: 1, connections: 50, load: { rate: 2000, hold: 20 } });
    expect(json.limits[0]).toMatchObject({ name: expect.any(String) as string });
    const wrong = await cli([...args, '--contended', '2']);
    expect(wrong).toMatchObject({ code: 64, stdout: '' });
    expect(wrong.stderr).toContain('--contended');
  });
});
