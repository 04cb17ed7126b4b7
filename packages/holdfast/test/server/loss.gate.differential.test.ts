/**
 * The same as `loss.differential.test.ts`, for latches and barriers: see `support/gate-loss.ts`.
 */
import { paced } from 'holdfast-testkit';
import fc from 'fast-check';
import type { ServerName } from 'holdfast-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DifferentialServer, SEED } from '../support/differential-server.js';
import { faulty } from '../support/faults.js';
import { GateDifferential, loadGateScripts } from '../support/gate-differential.js';
import {
  GATE_LOSS_FAULTS,
  type LossyGateStep,
  lossyGateTraffic,
  lostStay,
  lostWait,
} from '../support/gate-loss.js';

const RUNS = 300;
/** A fault counts as missed when this many sequences do not find it. */
const FAULT_RUNS = 2000;

const server = new DifferentialServer<LossyGateStep[], GateDifferential>(
  async (redis, replace) => new GateDifferential(redis, await loadGateScripts(redis, replace)),
);

describe.each<ServerName>(['redis', 'valkey'])('on %s, which loses keys of gates,', (name) => {
  beforeAll(() => server.start(name));
  afterAll(() => server.stop());

  it('the scripts reply, push and store the same as the engine', {
    timeout: paced(300_000),
  }, async () => {
    console.log(`lost gates on ${name} ${server.version}: HOLDFAST_SEED=${SEED}`);
    await server.using({}, async (differential) => {
      const property = fc.asyncProperty(lossyGateTraffic, (steps) => differential.run(steps));
      await fc.assert(property, { seed: SEED, numRuns: RUNS });
      for (const part of ['record', 'arrivals', 'past', 'expiries']) {
        expect(differential.seen.get(`lost ${part}`) ?? 0, part).toBeGreaterThan(20);
      }
    });
  });
});

describe('the differential test of lost gates detects', () => {
  beforeAll(() => server.start('redis'));
  afterAll(() => server.stop());

  it.each(GATE_LOSS_FAULTS.map((one) => [one.name, one] as const))(
    '%s',
    {
      timeout: 300_000,
    },
    (_, fault) => server.finds(faulty(fault), lossyGateTraffic, FAULT_RUNS, [lostWait, lostStay]),
  );
});
