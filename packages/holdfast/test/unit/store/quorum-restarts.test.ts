/** Servers of a quorum that restart without their memory, or with an older one. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast } from '../../../src/index.js';
import { LONG_MAX } from '../../../src/store/quorum/acceptor.js';
import { MemoryAcceptor } from '../../../src/store/quorum/memory-acceptor.js';
import { QuorumStore } from '../../../src/store/quorum/quorum-store.js';
import { verdictOf } from '../../../src/store/quorum/restarts.js';
import { Link } from '../../support/lossy-link.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const MARKER = 'holdfast:quorum';
let clock: VirtualClock;
let servers: MemoryAcceptor[];

/** A process: its library, and its ways to the servers. */
interface Process {
  readonly holdfast: Holdfast;
  readonly links: readonly Link[];
}

function start(count: number): void {
  clock = new VirtualClock();
  servers = Array.from({ length: count }, (_, at) => {
    return new MemoryAcceptor(`s${at}`, clock, 3_600_000);
  });
}

beforeEach(() => start(5));

function open(prefix = 'holdfast:', durable = false): Process {
  const links: Link[] = [];
  const acceptors = (marker: string): Link[] => {
    const made = servers.map((server, at) => {
      return new Link(new MemoryAcceptor(`s${at}`, clock, 0, [server, marker]));
    });
    links.push(...made);
    return made;
  };
  const terms = { timeout: 100, guard: 60_000, durable, fraction: () => Math.random() };
  const store = new QuorumStore({ acceptors, clock, ...terms }, prefix);
  return { holdfast: new Holdfast(store, { clock, requestTimeout: 400 }), links };
}

const silent = (process: Process, ...servers: number[]): void => {
  for (const [at, link] of process.links.entries()) {
    link.fate = () => (servers.includes(at) ? 'lost' : 'arrives');
  }
};

const restart = (memory: 'saved' | 'loses', ...which: number[]): void => {
  for (const at of which) (servers[at] as MemoryAcceptor).restart(memory);
};

/** True if the lock is granted within a time. */
async function granted({ holdfast }: Process, key: string, wait = 0, ttl = 1e6): Promise<boolean> {
  const trying = holdfast.mutex(key).tryAcquire({ wait, ttl });
  return clock.until(trying).then(
    (lease) => lease !== null,
    () => false,
  );
}

/** Lets the processes use the servers for some time, so that they see what becomes of them. */
async function pass(ms: number, ...processes: Process[]): Promise<void> {
  for (let at = 0; at < ms; at += 1000) {
    for (const one of processes) await granted(one, `other ${at}`);
    await clock.advance(1000);
  }
}

describe('a server that restarts from an older snapshot', () => {
  /** A lease is on servers 1 to 3. Two of them restart; then the servers 2 to 5 are there. */
  async function twice(prefix?: string): Promise<boolean> {
    const [one, other] = [open(), open()];
    const neighbour = open(prefix);
    await granted(one, 'first');
    await granted(neighbour, 'first of the neighbour');
    for (const server of servers) server.save();
    silent(one, 3, 4);
    expect(await granted(one, 'k')).toBe(true);
    restart('saved', 1, 2);
    // another application asks them first
    await granted(neighbour, 'second of the neighbour');
    silent(other, 0);
    return granted(other, 'k', 3000);
  }

  it('does not vote by its old marker', async () => {
    expect(await twice()).toBe(false);
  });

  it('does not vote after the check of another application', async () => {
    expect(await twice('neighbour:')).toBe(false);
  });

  // no check overwrites the marker: each vote compares it with the boot
  it('does not vote for processes that used it before', async () => {
    const [one, other] = [open(), open()];
    await granted(one, 'first');
    await granted(other, 'first of the other');
    for (const server of servers) server.save();
    silent(one, 3, 4);
    expect(await granted(one, 'k')).toBe(true);
    restart('saved', 1, 2);
    silent(other, 0);
    expect(await granted(other, 'k')).toBe(false);
  });

  it('votes at once if it is durable', async () => {
    const one = open('holdfast:', true);
    await granted(one, 'a');
    for (const server of servers) server.save();
    restart('saved', 0, 1, 2);
    expect(await granted(one, 'b')).toBe(true);
  });
});

it('a decision counts only for the boot for which it was made', async () => {
  const server = servers[0] as MemoryAcceptor;
  const { boot } = await server.check({ durable: false });
  server.restart('loses');
  const decision = { boot, from: 0, mark: 0, long: [], partial: false };
  const { votesFrom } = await server.check({ durable: false, decision });
  expect(votesFrom).toBeUndefined();
});

describe('two of five servers that have forgotten', () => {
  it('do not vote while a third is silent', async () => {
    const [one, other] = [open(), open()];
    await pass(12_000, one, other);
    silent(one, 3, 4);
    expect(await granted(one, 'k')).toBe(true);
    restart('loses', 1, 2);
    silent(other, 0);
    await pass(150_000, other);
    expect(await granted(other, 'k', 3000)).toBe(false);
  });

  it('vote again when the others have answered and their records have ended', async () => {
    const [one, other] = [open(), open()];
    await pass(12_000, one, other);
    restart('loses', 1, 2);
    await pass(200_000, other);
    silent(other, 0, 3);
    expect(await granted(other, 'k')).toBe(true);
  });
});

describe('a restart soon after the first use', () => {
  it.each(['restart', 'empty'] as const)('loses no lease (%s)', async (kind) => {
    start(3);
    const [one, other] = [open(), open()];
    expect(await granted(one, 'first')).toBe(true);
    silent(one, 2);
    expect(await granted(one, 'k')).toBe(true);
    if (kind === 'restart') restart('loses', 1);
    else servers[1]?.empty();
    silent(other, 0);
    expect(await granted(other, 'k', 80_000)).toBe(false);
  });

  it('loses no arrival at a latch', async () => {
    start(3);
    const [one, other] = [open(), open()];
    await clock.until(one.holdfast.latch('l', { count: 2 }).countDown());
    silent(one, 2);
    restart('loses', 1);
    await pass(200_000, other);
    silent(one, 0);
    silent(other, 0);
    const opened = clock.until(other.holdfast.latch('l', { count: 2 }).countDown());
    await opened.catch(() => undefined);
    silent(other);
    const state = await clock.until(other.holdfast.latch('l', { count: 2 }).countDown());
    expect(state).toBeDefined();
  });
});

describe('a quorum that too few servers know from its first use', () => {
  const countDown = ({ holdfast }: Process): Promise<number> =>
    clock.until(holdfast.latch('l', { count: 3 }).countDown());
  const refusal = { code: 'HOLDFAST_UNREACHABLE' };

  beforeEach(() => start(3));

  /** No decision of the process reaches a server. */
  function fresh(process: Process, at: number): void {
    const link = process.links[at] as Link;
    const { check } = link;
    link.check = (terms) => (terms.decision ? new Promise(() => undefined) : check(terms));
  }

  it('gives leases, and no latch until all servers have answered', async () => {
    const one = open();
    silent(one, 2);
    await pass(181_000, one);
    expect(await granted(one, 'k', 0, 30_000)).toBe(true);
    await expect(countDown(one)).rejects.toMatchObject(refusal);
    expect(await granted(one, 'long')).toBe(false);
    silent(one);
    expect(await countDown(one)).toBe(2);
    expect(await granted(one, 'long')).toBe(true);
  });

  it('gives no lease before the leases that it may have forgotten have ended', async () => {
    const one = open();
    silent(one, 2);
    await pass(181_000, one);
    expect(await granted(one, 'k', 0, 60_000)).toBe(true);
    restart('loses', 0, 1);
    const end = clock.now() + 178_000;
    while (clock.now() < end) {
      expect(await granted(one, 'k', 0, 60_000)).toBe(false);
      await clock.advance(1000);
    }
    await pass(5000, one);
    expect(await granted(one, 'k', 0, 60_000)).toBe(true);
  });

  // hole 89: the count is on servers 1 and 2; server 2 forgets it, and server 1 is silent
  it('does not lose a count that only a silent server still has', async () => {
    const [one, other] = [open(), open()];
    fresh(one, 2);
    expect(await countDown(one)).toBe(2);
    silent(one, 2);
    restart('loses', 1);
    silent(other, 0);
    await pass(200_000, other);
    await expect(countDown(other)).rejects.toMatchObject(refusal);
    silent(other);
    expect(await countDown(other).catch(() => 'no answer')).not.toBe(2);
  });

  it('limit: a short lease is granted beside a long one that a silent server has', async () => {
    const [one, other] = [open(), open()];
    fresh(one, 2);
    expect(await granted(one, 'k', 0, 600_000)).toBe(true);
    silent(one, 2);
    restart('loses', 1);
    silent(other, 0);
    await pass(200_000, other);
    expect(await granted(other, 'k', 0, 600_000)).toBe(false);
    expect(await granted(other, 'k', 0, 60_000)).toBe(true);
  });
});

describe('keys that are deleted long after the boot of their server', () => {
  beforeEach(() => start(3));

  it.each([
    ['the other one got no value', (kind: string) => kind === 'accept'],
    ['the other one is new', () => true],
  ])('give no second lease if %s', async (_, isLost) => {
    const [one, other] = [open(), open()];
    const third = one.links[2] as Link;
    third.fate = (kind) => (isLost(kind) ? 'lost' : 'arrives');
    for (let at = 0; at < 200 && !(await granted(one, 'k', 0, 60_000)); at++) {
      await clock.advance(1000);
    }
    const end = clock.now() + 60_000;
    servers[1]?.empty();
    silent(other, 0);
    for (; clock.now() < end; await clock.advance(1000)) {
      expect(await granted(other, 'k', 0, 30_000)).toBe(false);
    }
  });

  it('leave time for a value that is on its way', async () => {
    const [one, other] = [open(), open()];
    await pass(12_000, one, other);
    servers[1]?.empty();
    await granted(other, 'k');
    const marker = new MemoryAcceptor('s1', clock, 0, [servers[1] as MemoryAcceptor, MARKER]);
    const votesFrom = async (): Promise<unknown> =>
      (await marker.check({ durable: false })).votesFrom;
    expect(await votesFrom()).toBeUndefined();
    await pass(7000, other);
    expect(await votesFrom()).toBeDefined();
  });
});

describe('servers that start at different times', () => {
  /** In ms, until a lock is granted. */
  async function grantedAfter(process: Process): Promise<number> {
    const began = clock.now();
    while (clock.now() < began + 600_000 && !(await granted(process, 'k', 0, 30_000))) {
      await clock.advance(1000);
    }
    return clock.now() - began;
  }

  beforeEach(() => start(3));

  it('vote also beside one that never answers', async () => {
    restart('loses', 0);
    await clock.advance(20_000);
    restart('loses', 1);
    const one = open();
    silent(one, 2);
    expect(await grantedAfter(one)).toBeLessThan(185_000);
  });

  it('do not wait longer because one of them votes already', async () => {
    for (const server of [0, 1, 2]) {
      await clock.advance(20_000);
      restart('loses', server);
    }
    expect(await grantedAfter(open())).toBeLessThan(61_000);
  });
});

it('processes that end soon let a server without memory vote again', async () => {
  start(3);
  const one = open();
  await pass(12_000, one);
  silent(one, 0, 1, 2);
  restart('loses', 1);
  for (let at = 0; at < 30; at++) {
    const next = open();
    await pass(3000, next);
    await clock.until(next.holdfast.close());
    silent(next, 0, 1, 2);
    await clock.advance(7000);
  }
  const last = open();
  silent(last, 0);
  expect(await granted(last, 'k')).toBe(true);
});

describe('more long records than are named', () => {
  it('keep a server that does not know them from accepting others', async () => {
    const server = servers[0] as MemoryAcceptor;
    const { boot } = await server.check({ durable: false });
    const decided = { boot, from: 0, mark: 0, long: [], partial: false };
    await server.check({ durable: false, decision: decided });
    const value = { ballot: '1', next: '2', value: 'v', messages: [], fence: 0, grows: true };
    const now = clock.wall() * 1000;
    for (let at = 0; at <= LONG_MAX; at++) {
      await server.accept(`k${at}`, { ...value, now, keep: 3_600_000 });
    }
    const other = await server.check({ durable: false, long: true });
    const partial = { ...other, boot: 'partial', partial: true, keeps: 0, long: [] };
    const aged = { running: 1e9, marked: 1e9, seen: 1e9 };
    const terms = { majority: 2, others: 2, guard: 60_000, now, latest: now };
    const none = { ...partial, boot: 'none' };
    expect(verdictOf({ status: partial, ...aged }, [other, none], terms).decision).toBe(undefined);
    const forgot = { ...partial, partial: false, votesFrom: undefined };
    const { decision } = verdictOf({ status: forgot, ...aged }, [other, none], terms);
    expect(decision?.from).toBe(now + 3_600_000_000);
  });
});

describe('a record that lasts for long', () => {
  it('keeps a restarted server from votes for its own key only', async () => {
    start(3);
    const [one, other] = [open(), open()];
    await clock.until(one.holdfast.latch('l', { count: 2 }).countDown());
    await pass(12_000, one);
    restart('loses', 1);
    await pass(240_000, one);
    silent(other, 0);
    expect(await granted(other, 'k')).toBe(true);
    await expect(
      clock.until(other.holdfast.latch('l', { count: 2 }).countDown()),
    ).rejects.toMatchObject({ code: expect.stringMatching(/UNREACHABLE|UNCERTAIN/) });
  });
});

describe('a clock that is wrong at the boot of all servers, and set soon', () => {
  it('does not end the guard', async () => {
    const [one, other] = [open(), open()];
    await pass(12_000, one, other);
    expect(await granted(one, 'k')).toBe(true);
    restart('loses', 0, 1, 2, 3, 4);
    for (const server of servers) server.offset = -3_600_000;
    await granted(other, 'a');
    await clock.advance(1000);
    for (const server of servers) server.offset = 0;
    expect(await granted(other, 'k', 40_000)).toBe(false);
  });
});

describe('a record that has ended', () => {
  it('does not let a fence go back when all clocks are set back', async () => {
    const fence = async ({ holdfast }: Process): Promise<number> => {
      const lease = await clock.until(holdfast.mutex('k').acquire({ wait: 0 }));
      await clock.until(lease.release());
      return lease.fence;
    };
    for (const server of servers) server.offset = 3_600_000;
    const first = await fence(open());
    await clock.advance(300_000);
    // the servers promise a ballot, and so remove the record; no value is accepted
    const cut = open();
    for (const link of cut.links) link.fate = (kind) => (kind === 'accept' ? 'lost' : 'arrives');
    expect(await granted(cut, 'k')).toBe(false);
    for (const server of servers) server.offset = 0;
    expect(await fence(open())).toBeGreaterThan(first);
  });
});
