/** The formulas of `holdfast plan`, with costs that make each of them visible, and its options. */
import { describe, expect, it } from 'vitest';
import { loadOf, type PlanOptions } from '../../src/commands/plan.js';
import { type Cost, type Costs, TOPOLOGIES, type Topology } from '../../src/plan/costs.js';
import { COSTS } from '../../src/plan/measured.js';
import { type Load, type Plan, plan, pollsOf } from '../../src/plan/plan.js';
import { createProgram } from '../../src/program.js';
import { amount, bytes, share } from '../../src/values.js';
import { planReport } from '../../src/view/plan.js';

const cost = (commands: number, more: Partial<Cost> = {}): Cost => ({
  ...{ commands, inner: 0, server: 100 * commands, client: 10 * commands },
  ...{ received: 0, sent: 0, between: 0, ...more },
});

/** Each operation has another number of commands, so a sum shows its parts. */
const KNOWN: Costs = {
  ...{ pair: cost(2), handOff: cost(3), renewal: cost(0.5), renewalCall: cost(1), poll: cost(1) },
  ...{ alone: { server: 0, client: 0 }, renewedTogether: 500 },
  serverBytes: { empty: 1000, lease: 250, key: 100, waiter: 50, connection: 20, busy: 7 },
  clientBytes: { lease: 1500, waiter: 700 },
  connections: { fixed: 0, client: 1, wake: 1 },
};

const LOAD: Load = {
  ...{ topology: 'one', processes: 10, locks: 0, rate: 0, hold: 0, ttl: 10_000, contended: 0 },
  ...{ waiters: 0, hotKeys: 1, keys: undefined, servers: undefined, memory: 1e9 },
};

const known = (load: Partial<Load>, costs: Costs = KNOWN): Plan =>
  plan(
    { ...LOAD, ...load },
    Object.fromEntries(TOPOLOGIES.map((topology) => [topology, costs])) as Record<Topology, Costs>,
  );

describe('polls', () => {
  it.each([
    [0, 0],
    [1, 1],
    [8, 8],
    [10, 9],
    [120, 26.5],
    [1000, 81.5],
    [10_000, 644],
  ])('of %i waiters', (waiters, polls) => {
    expect(pollsOf(waiters)).toBeCloseTo(polls, 0);
  });

  it('of waiters that are granted the lock before their first poll', () => {
    expect(known({ waiters: 10 }).polls).toBe(9);
    expect(known({ waiters: 10, rate: 100, contended: 1 }).polls).toBe(0);
    expect(known({ waiters: 100, hotKeys: 100 }).polls).toBe(100);
  });
});

describe('commands', () => {
  it('of free and of contended acquisitions', () => {
    expect(known({ rate: 100 })).toMatchObject({ commands: 200, serverCpu: 0.02 });
    expect(known({ rate: 100, contended: 0.5 }).commands).toBe(100 + 150);
  });

  it('of renewals: one in 0.55 ttl, up to 500 leases in a call', () => {
    const { commands, renewals } = known({ locks: 55_000, processes: 10 });
    expect(renewals).toBeCloseTo(10_000);
    expect(commands).toBeCloseTo(10_000 * 0.5 + 10_000 / 500);
    // a call for each process, if it has few leases
    expect(known({ locks: 55 }).commands).toBeCloseTo(10 * 0.5 + 10 / 5.5);
  });

  it('of locks that are released before they are renewed, and after', () => {
    expect(known({ rate: 10, hold: 4999 }).renewals).toBe(0);
    expect(known({ rate: 10, hold: 11_000 }).renewals).toBeCloseTo(10 * 1.5);
  });

  it('of a quorum of five: three servers answer, not two', () => {
    const three = known({ topology: 'quorum', rate: 100 });
    const five = known({ topology: 'quorum', rate: 100, servers: 5 });
    expect(five.commands / three.commands).toBeCloseTo(1.5);
    expect([three.computed, five.computed]).toEqual([false, true]);
  });

  it('of renewals on a cluster: a call for each process and node', () => {
    const { commands, masters } = known({ topology: 'cluster', locks: 550 });
    expect(masters).toBe(3);
    expect(commands).toBeCloseTo(100 * 0.5 + (10 * 3) / 5.5);
  });
});

describe('memory and connections', () => {
  it('of locks that are held, and of keys that are remembered', () => {
    const base = 1000 + 10 * 20;
    const quiet = { ...KNOWN, serverBytes: { ...KNOWN.serverBytes, busy: 0 } };
    expect(known({ rate: 10 }, quiet).serverMemory).toBe(base + 600 * 100);
    expect(known({ rate: 10, keys: 50 }, quiet).serverMemory).toBe(base + 50 * 100);
    expect(known({ locks: 100 }, quiet).serverMemory).toBe(base + 10 * 20 + 100 * 250);
    const replicas = known({ topology: 'replicas', rate: 10, keys: 0 }, quiet);
    expect(replicas.serverMemory).toBe(base + 2 ** 20);
    // a connection is busy for two seconds after a command: all of ten, and 0.8 of them
    expect(known({ rate: 10, keys: 0 }).serverMemory).toBe(base + 10 * 7);
    expect(known({ rate: 2, keys: 0 }).serverMemory).toBe(base + 0.8 * 10 * 7);
    expect(known({ locks: 100 }).clientMemory).toBe(10 * 1500);
  });

  it('each member of a quorum has all records, a master of a cluster its share', () => {
    const [one, quorum, cluster] = (['one', 'quorum', 'cluster'] as const).map((topology) =>
      known({ topology, locks: 1e6 }),
    ) as [Plan, Plan, Plan];
    expect(quorum.serverMemory / one.serverMemory).toBeCloseTo(3, 2);
    expect(cluster.serverMemory / one.serverMemory).toBeCloseTo(1, 2);
  });

  it('a process listens if it waits, or holds a lock for longer than a second', () => {
    expect(known({ rate: 1 }).connections).toBe(10);
    expect(known({ rate: 1, hold: 1001 }).connections).toBe(20);
    expect(known({ rate: 1, contended: 0.1 }).connections).toBe(20);
    expect(known({ topology: 'quorum', locks: 1 }).connections).toBe(60);
  });
});

describe('limits', () => {
  it('the fullest is the first', () => {
    const first = (load: Partial<Load>): string => known(load).limits[0].name;
    expect(first({ rate: 4000, keys: 1 })).toBe('server cpu');
    expect(first({ locks: 3e6, processes: 100, ttl: 3_600_000 })).toBe('server memory');
    expect(first({ processes: 4000, rate: 1 })).toBe('connections');
    expect(first({ rate: 400, contended: 0.5, hold: 3 })).toBe('hot key');
    expect(first({ rate: 4000, processes: 1, keys: 1, topology: 'cluster', servers: 40 })).toBe(
      'client cpu',
    );
    const large = { ...KNOWN, pair: cost(0, { received: 1e6 }) };
    expect(known({ rate: 100 }, large).limits[0]).toMatchObject({ name: 'network', share: 0.8 });
  });

  it('a cluster gets as many masters as the work needs', () => {
    expect(known({ topology: 'cluster', rate: 10_000 }).masters).toBe(4);
    expect(known({ topology: 'cluster', rate: 10 }).masters).toBe(3);
    expect(known({ topology: 'replicas', rate: 10, servers: 2 })).toMatchObject({
      ...{ masters: 1, servers: 3 },
    });
  });

  it('says what is beyond the measured sizes', () => {
    expect(known({ locks: 1e6, processes: 3000 }).computed).toBe(false);
    expect(known({ locks: 1, processes: 3001 }).computed).toBe(true);
    expect(known({ locks: 1e7 }).computed).toBe(true);
    // of the other topologies, less was measured
    expect(known({ topology: 'quorum', locks: 1e5 }).computed).toBe(false);
    for (const topology of ['replicas', 'quorum', 'cluster'] as const) {
      expect(known({ topology, locks: 1.1e5 }).computed).toBe(true);
    }
    expect(planReport(known({ locks: 1e7 }))).toMatch(/beyond what was measured: computed/);
  });
});

describe('the report', () => {
  it('names the first limit, and what to do', () => {
    const text = planReport(known({ rate: 1000, contended: 1, hold: 4 }));
    expect(text).toMatch(/^servers +1 \(one\)$/m);
    expect(text).toMatch(/^commands +3,000\/s, 0\/s inside scripts$/m);
    expect(text).toMatch(/^hot key +500% +500% of 100%$/m);
    expect(text).toMatch(/first: hot key, which the load exceeds 5.0 times: it does not fit/);
    expect(text).toMatch(/to do: split the key, .*; 5 such keys are enough/);
    expect(planReport(known({ rate: 10 }))).toMatch(/first: .*, full at \S+ times this load/);
  });
});

describe('the options', () => {
  const options: PlanOptions = {
    ...{ topology: 'one', processes: 10, locks: 1, rate: 0, hold: 0, ttl: 10_000, contended: 0 },
    ...{ waiters: 0, hotKeys: 1, memory: 1e9 },
  };

  it.each<[Partial<PlanOptions>, RegExp]>([
    [{ locks: 0 }, /there is no load/],
    [{ processes: 0 }, /--processes 0/],
    [{ ttl: 0 }, /--ttl/],
    [{ waiters: 11 }, /--waiters 11 are too many/],
    [{ servers: 2 }, /--servers 2 does not fit --topology one/],
    [{ topology: 'quorum', servers: 4 }, /--servers 4: a quorum has an odd number/],
    [{ topology: 'quorum', servers: 1 }, /--servers 1: a quorum/],
    [{ topology: 'cluster', servers: 2 }, /--servers 2: a cluster has three masters or more/],
  ])('%o are wrong use', (wrong, message) => {
    const call = (): Load => loadOf({ ...options, ...wrong });
    expect(call).toThrow(message);
    expect(call).toThrow(expect.objectContaining({ exitCode: 64 }) as Error);
  });

  it.each([
    ['--contended', '2'],
    ['--rate', 'many'],
    ['--topology', 'two'],
    ['--hold', '20'],
    ['--memory', '1'],
    ['--hot-keys', '0'],
    ['--servers', '7'],
    ['--waiters', '51'],
  ])('%s %s is wrong use, and the message names the option', async (option, value) => {
    const words = ['plan', '--processes', '50', '--rate', '2k', option, value];
    const program = createProgram(undefined, () => undefined);
    await expect(program.parseAsync(words, { from: 'user' })).rejects.toThrow(option);
  });

  it('numbers, shares and sizes', () => {
    expect(['250', '0.5', '10k', '2.5M'].map(amount)).toEqual([250, 0.5, 10_000, 2_500_000]);
    expect(['0.3', '30%', '0', '1', '100%'].map(share)).toEqual([0.3, 0.3, 0, 1, 1]);
    expect(['500MB', '1.5GB', '1TB'].map(bytes)).toEqual([5e8, 1.5e9, 1e12]);
    for (const text of ['', '-1', '1e3', '10K', 'x']) expect(() => amount(text)).toThrow();
    for (const text of ['', '2', '101%', '-0.1', 'x']) expect(() => share(text)).toThrow();
    for (const text of ['', '5', '0MB', '1GiB', 'x']) expect(() => bytes(text)).toThrow();
  });
});

describe('commands that wake an idle program', () => {
  const costs: Costs = { ...KNOWN, alone: { server: 70, client: 180 } };
  /** The µs of a pair beyond those of a busy program. */
  const more = (load: Partial<Load>, of: 'clientCpu' | 'serverCpu'): number =>
    ((known(load, costs)[of] - known(load)[of]) * 1e6) / (load.rate ?? 1);

  it('cost all of it if they are seldom', () => {
    expect(more({ rate: 0.01 }, 'clientCpu')).toBeCloseTo(180, 0);
    expect(more({ rate: 0.01 }, 'serverCpu')).toBeCloseTo(70, 0);
  });

  it('cost half at 100 pairs in a second of each process, and at 200 of the server', () => {
    expect(more({ processes: 5, rate: 500 }, 'clientCpu')).toBeCloseTo(90);
    expect(more({ processes: 5, rate: 200 }, 'serverCpu')).toBeCloseTo(35);
    expect(more({ topology: 'cluster', servers: 3, rate: 600 }, 'serverCpu')).toBeCloseTo(35);
  });

  it('cost little where each of them finds a busy program', () => {
    expect(more({ processes: 1, rate: 18_000 }, 'clientCpu')).toBeLessThan(2);
  });

  it('are the calls that renew leases, too', () => {
    const load = { locks: 1, ttl: 1000 / 0.55 };
    const woken = known(load, costs).clientCpu - known(load).clientCpu;
    expect(woken * 1e6).toBeCloseTo(90, 0);
  });
});

describe('the measured costs', () => {
  it('are those of four topologies, and none is missing', () => {
    for (const topology of TOPOLOGIES) {
      const { alone, pair, handOff, poll, renewal, serverBytes } = COSTS[topology];
      for (const one of [pair, handOff, poll]) {
        expect(Math.min(one.commands, one.inner, one.server, one.client), topology).toBeGreaterThan(
          0,
        );
      }
      expect(Math.min(alone.server, alone.client), topology).toBeGreaterThan(0);
      expect(Math.min(renewal.inner, renewal.server, renewal.client)).toBeGreaterThan(0);
      expect(Math.min(...Object.values(serverBytes)), topology).toBeGreaterThan(0);
    }
  });
});
