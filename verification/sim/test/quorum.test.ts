/** The simulated quorum in the test suite: a fixed set of seeds, and planted mistakes. */
import { beforeAll, describe, expect, it } from 'vitest';
import type {
  GuardTerms,
  Proposal,
  ServerStatus,
  Vote,
} from '../../../packages/holdfast/dist/store/quorum/acceptor.js';
import type { Command, Reply } from '../../../packages/holdfast/dist/engine/commands.js';
import { loadQuorum, type QuorumLibrary } from '../src/quorum/library.js';
import { type QuorumPlan, quorumPlanOf } from '../src/quorum/plan.js';
import { type QuorumResult, runQuorum } from '../src/quorum/run.js';
import { QuorumWorld } from '../src/quorum/world.js';

const SEEDS = 6;
/** The seeds that are searched for a planted mistake, at most. */
const SEARCHED = 30;
/** Virtual ms of faults of a seed here. */
const MS = 10_000;
/** A plan that shows a lost memory soon. */
const RESTARTS = { servers: 3, durable: false, faults: 200 };

let library: QuorumLibrary;

beforeAll(async () => {
  library = await loadQuorum();
});

const run = (
  seed: number,
  mistaken: QuorumLibrary = library,
  plan: Partial<QuorumPlan> = {},
): Promise<QuorumResult> => runQuorum(quorumPlanOf(seed, { ms: MS, ...plan }), mistaken);

/** A process has used all servers. */
async function visited(world: QuorumWorld): Promise<void> {
  const { holdfast } = world.open();
  void holdfast
    .mutex('mutex')
    .tryAcquire()
    .catch(() => undefined);
  await world.scheduler.runUntil(world.scheduler.now + 500, () => false);
}

const UNSAFE = /belief|fence|fork/;

/** The first violation of these kinds in any of the seeds; by default: two holders. */
async function found(
  mistaken: QuorumLibrary,
  plan?: Partial<QuorumPlan>,
  kinds: RegExp = UNSAFE,
): Promise<string | undefined> {
  for (let seed = 1; seed <= SEARCHED; seed++) {
    const { violations } = await run(seed, mistaken, plan);
    const unsafe = violations.find(({ kind }) => kinds.test(kind));
    if (unsafe !== undefined) return unsafe.kind;
  }
  return undefined;
}

describe('the simulated quorum', () => {
  it('shows no violation in a fixed set of seeds', async () => {
    const sums = { grants: 0, restarts: 0, crashes: 0, steps: 0 };
    for (let seed = 1; seed <= SEEDS; seed++) {
      const result = await run(seed);
      expect({ seed, violations: result.violations }).toEqual({ seed, violations: [] });
      for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += result[name];
    }
    expect(sums.grants).toBeGreaterThan(500);
    expect(Math.min(sums.restarts, sums.crashes, sums.steps)).toBeGreaterThan(1);
  });

  it('runs a seed the same way each time', async () => {
    expect(await run(3)).toEqual(await run(3));
  });

  it('shows no violation in the seeds of the controls', async () => {
    for (let seed = 1; seed <= SEARCHED; seed++) {
      const { violations } = await run(seed, library, RESTARTS);
      expect({ seed, violations }).toEqual({ seed, violations: [] });
    }
  });

  it('draws faults of at most a minority of the servers at a time', async () => {
    const most = { faulty: 0, failed: 0, mute: 0 };
    for (let seed = 0; seed < 6; seed++) {
      const [mute, wrongClocks] = [seed % 2 === 0, seed % 3];
      const plan = quorumPlanOf(seed, { servers: 5, durable: false, mute, wrongClocks });
      const world = new QuorumWorld(plan, library);
      const { nodes, scheduler } = world;
      while (scheduler.now < 20_000) {
        if (world.clients.length === 0) await visited(world);
        await scheduler.runUntil(scheduler.now + 400, () => false);
        world.fault();
        const faulty = nodes.filter((one) => one.faulty(world.time));
        const silent = nodes.filter((one) => one.silent(scheduler.now));
        const failed = new Set([...faulty, ...silent]).size;
        most.faulty = Math.max(most.faulty, faulty.length);
        if (mute) most.mute = Math.max(most.mute, failed);
        else most.failed = Math.max(most.failed, failed);
      }
    }
    expect(most).toEqual({ faulty: 2, failed: 2, mute: 5 });
  });

  it('control: finds servers that accept without regard to their promises', async () => {
    class Careless extends library.MemoryAcceptor {
      override async accept(key: string, proposal: Proposal): Promise<Vote> {
        const vote = await super.accept(key, proposal);
        if (vote.status !== 'no') return vote;
        return { status: 'yes', time: vote.time, ballot: '', value: '', mark: 0, left: '' };
      }
    }
    expect(await found({ ...library, MemoryAcceptor: Careless })).toMatch(UNSAFE);
  });

  it('control: finds a server that restarts without its memory and is not noticed', async () => {
    class Forgetful extends library.MemoryAcceptor {
      override check(terms: GuardTerms): Promise<ServerStatus> {
        return super.check({ ...terms, durable: true });
      }
    }
    const mistaken = { ...library, MemoryAcceptor: Forgetful };
    expect(await found(mistaken, RESTARTS)).toMatch(UNSAFE);
  });

  it('control: finds a store that withdraws nothing', async () => {
    class Lazy extends library.QuorumStore {
      override execute(batch: readonly Command[]): Promise<Reply>[] {
        return batch.flatMap((one): Promise<Reply>[] => {
          const freed: Reply = { status: 'freed', holds: 0, now: 0 };
          if (one.op === 'release') return [Promise.resolve(freed)];
          return super.execute([one]);
        });
      }
    }
    const mistaken = { ...library, QuorumStore: Lazy };
    expect(await found(mistaken, { ms: 2000 }, /ghost/)).toBe('ghost');
  });
});
