/** The simulated register in the test suite: a fixed set of seeds, and planted mistakes. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Command, Reply } from '../../../packages/holdfast/dist/engine/commands.js';
import type { Register, Versioned } from '../../../packages/holdfast/dist/register.js';
import type * as store from '../../../packages/holdfast/dist/store/register/register-store.js';
import { loadRegister, type RegisterLibrary } from '../src/register/library.js';
import { type RegisterPlan, registerPlanOf } from '../src/register/plan.js';
import { type RegisterResult, runRegister } from '../src/register/run.js';

const SEEDS = 8;
/** The seeds that are searched for a planted mistake, at most. */
const SEARCHED = 40;
/** Virtual ms of faults of a seed here. */
const MS = 5000;

let library: RegisterLibrary;

beforeAll(async () => {
  library = await loadRegister();
});

const run = (
  seed: number,
  mistaken: RegisterLibrary = library,
  plan: Partial<RegisterPlan> = {},
): Promise<RegisterResult> => runRegister(registerPlanOf(seed, { ms: MS, ...plan }), mistaken);

/** The first violation in any of the seeds. */
async function found(
  mistaken: RegisterLibrary,
  plan?: Partial<RegisterPlan>,
): Promise<string | undefined> {
  for (let seed = 1; seed <= SEARCHED; seed++) {
    const [first] = (await run(seed, mistaken, plan)).violations;
    if (first !== undefined) return first.kind;
  }
  return undefined;
}

/** The library on a register that makes a mistake. */
function on(mistake: (of: Register) => Partial<Register>): RegisterLibrary {
  class Mistaken extends library.RegisterStore {
    constructor(of: Register, options: store.RegisterStoreOptions) {
      const plain: Register = {
        label: of.label,
        read: (key) => of.read(key),
        swap: (key, version, change) => of.swap(key, version, change),
        scan: (prefix, within) => of.scan(prefix, within),
        ...(of.listen && { listen: (channel, listener) => of.listen?.(channel, listener) }),
      } as Register;
      super({ ...plain, ...mistake(of) }, options);
    }
  }
  return { ...library, RegisterStore: Mistaken };
}

describe('the simulated register', () => {
  it('shows no violation in a fixed set of seeds', async () => {
    const sums = { grants: 0, crashes: 0, closes: 0, steps: 0, outages: 0 };
    for (let seed = 1; seed <= SEEDS; seed++) {
      const result = await run(seed);
      expect({ seed, violations: result.violations }).toEqual({ seed, violations: [] });
      for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += result[name];
    }
    expect(sums.grants).toBeGreaterThan(500);
    expect(Math.min(sums.crashes, sums.closes, sums.steps, sums.outages)).toBeGreaterThan(1);
  });

  it('runs a seed the same way each time', async () => {
    const short = { ms: 2000 };
    expect(await run(3, library, short)).toEqual(await run(3, library, short));
  });

  it('shows no violation in the seeds of the controls', async () => {
    const harmless = on(() => ({}));
    for (let seed = 1; seed <= SEARCHED / 8; seed++) {
      const { violations } = await run(seed, harmless);
      expect({ seed, violations }).toEqual({ seed, violations: [] });
    }
  });

  it('control: finds a register that replaces any version', async () => {
    const careless = on((of) => ({
      swap: async (key, _version, change) => of.swap(key, (await of.read(key)).version, change),
    }));
    expect(await found(careless)).toMatch(/belief|fence/);
  });

  it('control: finds a register that answers reads from what it read before', async () => {
    const stale = on((of) => {
      const states = new Map<string, Versioned>();
      let reads = 0;
      return {
        read: async (key) => {
          const now = await of.read(key);
          const before = states.get(key);
          reads += 1;
          // the time is right, and the state is that of a replica
          if (before !== undefined && reads % 4 > 0) return { ...before, time: now.time };
          states.set(key, now);
          return now;
        },
      };
    });
    expect(await found(stale)).toBeTypeOf('string');
  });

  it('control: finds a register that repeats a swap without an answer', async () => {
    const again = on((of) => ({
      swap: (key, version, change) =>
        of.swap(key, version, change).catch(() => of.swap(key, version, change)),
    }));
    expect(await found(again)).toBe('repeated');
  });

  it('control: finds a register that never gives a call up', async () => {
    expect(await found(library, { timeout: 10 ** 9 })).toMatch(/stuck|ghost/);
  });

  it('control: finds a store that withdraws nothing', async () => {
    class Lazy extends library.RegisterStore {
      override execute(batch: readonly Command[]): Promise<Reply>[] {
        return batch.flatMap((one): Promise<Reply>[] => {
          const freed: Reply = { status: 'freed', holds: 0, now: 0 };
          if (one.op === 'release') return [Promise.resolve(freed)];
          return super.execute([one]);
        });
      }
    }
    const mistaken = { ...library, RegisterStore: Lazy };
    expect(await found(mistaken, { ms: 2000, orderly: false })).toBe('ghost');
  });
});
