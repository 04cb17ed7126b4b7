/**
 * Many processes that ask for one lock on a quorum at the same time, in virtual time: how many
 * requests each grant costs all servers together. The count must not grow with the processes.
 */
import { describe, expect, it } from 'vitest';
import { adopt, handOver } from '../../src/handover.js';
import { Holdfast } from '../../src/index.js';
import type { Acceptor, Asker } from '../../src/store/quorum/acceptor.js';
import { MemoryAcceptor } from '../../src/store/quorum/memory-acceptor.js';
import { QuorumStore } from '../../src/store/quorum/quorum-store.js';
import { randomOf } from '../support/seeded-random.js';
import { VirtualClock } from '../support/virtual-clock.js';

interface Result {
  /** Requests to any server, for each grant. */
  readonly calls: number;
  /** Characters of states that are sent to servers, for each grant. */
  readonly sent: number;
  readonly lost: number;
  readonly ms: number;
  /** Requests in the three seconds after the last grant, for each grant. */
  readonly later: number;
}

interface WorldOptions {
  /** False: servers keep no promise, as before contenders let each other pass. */
  readonly stays: boolean;
  /** The instances listen from the start. Default: true. */
  readonly warm?: boolean;
  /** False: it is not known whether a request was sent twice. Default: true. */
  readonly named?: boolean;
  /** @param length of the state that the request sends */
  readonly called?: (length: number) => void;
  readonly lost?: () => void;
}

/** A server at a distance of 0.1 to 0.6 ms. Requests keep their order. */
function distant(
  server: MemoryAcceptor,
  clock: VirtualClock,
  random: () => number,
  { stays, called, named = true }: WorldOptions & Required<Pick<WorldOptions, 'called'>>,
): Acceptor {
  const last = { there: 0, back: 0 };
  const after = (way: 'there' | 'back', callback: () => void): void => {
    last[way] = Math.max(last[way], clock.now() + 0.1 + random() / 2);
    void clock.after(last[way] - clock.now(), callback);
  };
  const ask = <T>(send: () => Promise<T>, length = 0): Promise<T> => {
    called(length);
    return new Promise((resolve) => {
      after('there', () => {
        void send().then((answer) => after('back', () => resolve(answer)));
      });
    });
  };
  const asked = (asker: Asker | undefined): Asker | undefined =>
    asker && (stays ? asker : { ...asker, yields: 0 });
  return {
    label: 'distant',
    connection: () => (named ? server : undefined),
    prepare: (key, ballot, now, asker) => ask(() => server.prepare(key, ballot, now, asked(asker))),
    accept: (key, proposal) => ask(() => server.accept(key, proposal), proposal.value.length),
    look: (key, now) => ask(() => server.look(key, now)),
    collect: (key, channel) => ask(() => server.collect(key, channel)),
    check: (terms) => server.check(terms),
    keys: (prefix) => server.keys(prefix),
    subscribe: (channel, listener) => {
      const message = (text: string): void => after('back', () => listener.message(text));
      return server.subscribe(channel, { ...listener, message, up() {}, down() {} });
    },
  };
}

interface World {
  readonly clock: VirtualClock;
  readonly instances: readonly Holdfast[];
  /** Calls one function for each instance, while time passes. */
  readonly all: <T>(one: (instance: Holdfast, at: number) => Promise<T>) => Promise<T[]>;
  readonly close: () => Promise<unknown>;
}

/** Instances that know their servers, and that listen if they are warm. */
async function worldOf(
  processes: number,
  { stays, warm = true, named = true, called, lost }: WorldOptions,
): Promise<World> {
  const clock = new VirtualClock();
  const random = randomOf(processes);
  let draws = 0;
  const servers = [0, 1, 2].map((at) => new MemoryAcceptor(`s${at}`, clock, 3_600_000));
  const instances = Array.from({ length: processes }, (_, process) => {
    const links = servers.map((server) =>
      distant(server, clock, random, { stays, named, called: called ?? noop }),
    );
    const parts = { timeout: 200, guard: 0, durable: true, clock, fraction: random };
    const store = new QuorumStore({ ...parts, acceptors: () => links });
    const secret = (): string => `${(draws += 1)}`;
    const randomSource = { id: () => `p${process}`, fraction: random, secret };
    return new Holdfast(store, { clock, randomSource, onLost: lost ?? noop });
  });
  const all = <T>(one: (instance: Holdfast, at: number) => Promise<T>): Promise<T[]> =>
    until(clock, Promise.all(instances.map(one)));
  // the servers are known, and the channels are open
  if (warm) await all(async (instance) => instance.warmUp());
  await all(async (instance, at) => (await instance.mutex(`own ${at}`).acquire()).release());
  const close = (): Promise<unknown> =>
    until(clock, Promise.all(instances.map((instance) => instance.close({ grace: 0 }))));
  return { clock, instances, all, close };
}

/** @param stays false: servers keep no promise, as before contenders let each other pass */
async function contend(processes: number, stays: boolean, named = true): Promise<Result> {
  let [calls, sent, lost, grants] = [0, 0, 0, 0];
  const world = await worldOf(processes, {
    stays,
    named,
    called: (length) => {
      calls += 1;
      sent += length;
    },
    lost: () => void (lost += 1),
  });
  const { clock, all } = world;
  [calls, sent] = [0, 0];
  const start = clock.now();
  await all(async (instance) => {
    const lease = await instance.mutex('k').acquire({ wait: 60_000 });
    grants += 1;
    await new Promise<void>((resolve) => void clock.after(1, resolve));
    if ((await lease.release()) === 'lost') lost += 1;
  });
  const ms = clock.now() - start;
  const each = { calls: calls / grants, sent: sent / grants, ms: ms / grants };
  calls = 0;
  await until(clock, clock.advance(3000));
  const later = calls / grants;
  await world.close();
  return { ...each, lost, later };
}

/** Lets time pass in short steps: a grant is reported some turns of the event loop later. */
async function until<T>(clock: VirtualClock, done: Promise<T>): Promise<T> {
  let isOver = false;
  void done.finally(() => (isOver = true)).catch(() => undefined);
  while (!isOver) await clock.advance(0.1);
  return done;
}

const noop = (): void => undefined;

describe('contenders that ask for one lock of a quorum at the same time', () => {
  it('cost as many requests for each grant if there are six times as many of them', async () => {
    const [few, many] = [await contend(10, true), await contend(60, true)];
    expect([few.lost, many.lost]).toEqual([0, 0]);
    // the claim of a lease travels with its release: one change for each grant
    expect(few.calls).toBeLessThan(6);
    expect(many.calls).toBeLessThan(6.3);
    expect(many.ms).toBeLessThan(1.5 * few.ms);
  });

  it('send nothing after their turn, unless a client may have sent a request twice', async () => {
    const [known, unknown] = [await contend(60, true), await contend(60, true, false)];
    // the last state is sent to the server that was spared
    expect(60 * known.later).toBeLessThanOrEqual(1.001);
    expect(60 * unknown.later).toBeGreaterThan(5);
  });

  it('send less than 12 KB of states for each grant if there are 100 of them', async () => {
    const { sent, lost } = await contend(100, true);
    expect(lost).toBe(0);
    expect(sent).toBeLessThan(12 * 1024);
  });

  it('control: cost more and more if servers let the next one overtake', async () => {
    const [few, many] = [await contend(10, false), await contend(60, false)];
    expect(many.calls).toBeGreaterThan(1.3 * few.calls);
  });
});

it('a lease is adopted at once while another process may change its key', async () => {
  const { clock, instances, close } = await worldOf(2, { stays: true, warm: false });
  const [one, other] = instances as [Holdfast, Holdfast];
  const lease = await until(clock, one.mutex('k').acquire());
  const next = one.mutex('k').acquire();
  await until(clock, clock.advance(5));
  const start = clock.now();
  const adopted = await until(clock, adopt(other, handOver(one, lease)));
  expect(clock.now() - start).toBeLessThan(20);
  expect(adopted.held).toBe(true);
  await until(clock, adopted.release());
  expect((await until(clock, next)).held).toBe(true);
  await close();
});

it('an acquisition with an owner gets its turn while others ask again and again', async () => {
  const { clock, instances, close } = await worldOf(11, { stays: true });
  const [last, ...others] = instances as [Holdfast, ...Holdfast[]];
  let [grants, stopped] = [0, false];
  const loops = others.map(async (instance) => {
    while (!stopped) {
      const lease = await instance.mutex('k').acquire();
      grants += 1;
      await new Promise<void>((resolve) => void clock.after(1, resolve));
      await lease.release();
    }
  });
  await until(clock, clock.advance(50));
  for (let count = 0; count < 5; count++) {
    const before = grants;
    const lease = await until(clock, last.mutex('k', { sharedBy: 'owner' }).acquire());
    expect(grants - before).toBeLessThan(10 * others.length);
    await until(clock, lease.release());
  }
  stopped = true;
  await until(clock, Promise.all(loops));
  await close();
});
