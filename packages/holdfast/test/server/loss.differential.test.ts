/**
 * The Lua scripts behave as the TypeScript engine, also when the server loses some keys of a
 * resource and keeps the others: see `support/loss.ts`. HOLDFAST_SEED repeats a run.
 */
import { paced } from 'holdfast-testkit';
import fc from 'fast-check';
import type { ServerName } from 'holdfast-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Differential, loadScripts } from '../support/differential.js';
import { DifferentialServer, SEED } from '../support/differential-server.js';
import { faulty } from '../support/faults.js';
import { LOSS_FAULTS } from '../support/faults-loss.js';
import { lossyCrowd, type LossyStep, lossyTraffic } from '../support/loss.js';

const RUNS = 250;
/** A fault counts as missed when this many sequences do not find it. */
const FAULT_RUNS = 2000;

const server = new DifferentialServer<LossyStep[], Differential>(
  async (redis, replace) => new Differential(redis, await loadScripts(redis, replace)),
);

describe.each<ServerName>(['redis', 'valkey'])('on %s, which loses keys,', (name) => {
  beforeAll(() => server.start(name));
  afterAll(() => server.stop());

  it('the scripts reply, push and store the same as the engine', {
    timeout: paced(300_000),
  }, async () => {
    console.log(`loss on ${name} ${server.version}: HOLDFAST_SEED=${SEED}`);
    await server.using({}, async (differential) => {
      const property = fc.asyncProperty(lossyTraffic, (steps) => differential.run(steps));
      // to shorten a sequence takes longer than the time limit
      await fc.assert(property, { seed: SEED, numRuns: RUNS, endOnFailure: true });
      const count = (what: string): number => differential.seen.get(what) ?? 0;
      expect(count('lost record')).toBeGreaterThan(100);
      expect(count('lost queue')).toBeGreaterThan(20);
      expect(count('lost expiries')).toBeGreaterThan(5);
    });
  });

  it('the scripts and the engine agree on many leases and many waiters', async () => {
    await server.using({}, (differential) => differential.run(lossyCrowd));
  });
});

describe('the differential test of lost keys detects', () => {
  beforeAll(() => server.start('redis'));
  afterAll(() => server.stop());

  it.each(LOSS_FAULTS.map((one) => [one.name, one] as const))(
    '%s',
    {
      timeout: 300_000,
    },
    (_, fault) => server.finds(faulty(fault), lossyTraffic, FAULT_RUNS, [lossyCrowd]),
  );
});
