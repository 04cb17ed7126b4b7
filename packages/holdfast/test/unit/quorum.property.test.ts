/** A quorum under faults from seeds: exclusion and fences. `HOLDFAST_SEEDS` runs more of them. */
import { describe, expect, it } from 'vitest';
import type { Proposal, Vote } from '../../src/store/quorum/acceptor.js';
import { MemoryAcceptor } from '../../src/store/quorum/memory-acceptor.js';
import { type Result, runQuorum, type Terms } from '../support/quorum-world.js';

const SEEDS = Number(process.env['HOLDFAST_SEEDS'] ?? 6);
const USUAL = { servers: 5, processes: 3, ms: 60_000 };

/** The first result with a violation, of many seeds. */
async function found(terms: Omit<Terms, 'seed'>, seeds: number): Promise<Result | undefined> {
  for (let seed = 1; seed <= seeds; seed++) {
    const result = await runQuorum({ ...terms, seed });
    if (result.violations.length > 0) return result;
  }
  return undefined;
}

describe('a quorum whose minority fails', () => {
  it('grants one lease at a time, with growing fences', async () => {
    let [grants, restarts] = [0, 0];
    for (let seed = 1; seed <= SEEDS; seed++) {
      const servers = [5, 3, 7][seed % 3] as number;
      const result = await runQuorum({ ...USUAL, servers, seed });
      expect({ seed, violations: result.violations }).toEqual({ seed, violations: [] });
      grants += result.grants;
      restarts += result.restarts;
    }
    if (process.env['HOLDFAST_SEEDS'] !== undefined)
      console.log(`${grants} grants, ${restarts} restarts`);
    expect(grants).toBeGreaterThan(SEEDS * 100);
    expect(restarts).toBeGreaterThan(0);
  });
});

describe('control: a violation is found', () => {
  it('if servers vote right after a restart without their memory', async () => {
    expect(await found({ ...USUAL, servers: 3, guarded: false }, 20)).toBeDefined();
  });

  it('if servers accept without regard to their promises', async () => {
    class Careless extends MemoryAcceptor {
      override async accept(key: string, proposal: Proposal): Promise<Vote> {
        const vote = await super.accept(key, proposal);
        if (vote.status !== 'no') return vote;
        return { status: 'yes', time: vote.time, ballot: '', value: '' };
      }
    }
    expect(await found({ ...USUAL, acceptor: Careless }, 10)).toBeDefined();
  });
});
