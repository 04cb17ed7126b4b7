/**
 * The gate scripts behave as the TypeScript engine: the same replies, pushes and stored state for
 * the same random traffic, on every supported server. Planted faults show that this test can fail.
 */
import fc from 'fast-check';
import type { ServerName } from 'holdfast-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DifferentialServer, SEED } from '../support/differential-server.js';
import { faulty } from '../support/faults.js';
import { GateDifferential, loadGateScripts } from '../support/gate-differential.js';
import { GATE_FAULTS } from '../support/gate-faults.js';
import {
  expires,
  type GateStep,
  gateTraffic,
  longHistory,
  stays,
  watchedAgain,
} from '../support/gate-traffic.js';

const SERVERS: readonly ServerName[] = ['redis', 'valkey'];
const RUNS = 300;
/** A fault counts as missed when this many sequences do not find it. */
const FAULT_RUNS = 1000;

/** Every event that the traffic must cause, and its least count. */
const COVERAGE: Record<string, number> = {
  'arrive barrier broken': 200,
  'arrive barrier closed': 1000,
  'arrive barrier open': 200,
  'arrive barrier unknown': 100,
  'arrive latch broken': 200,
  'arrive latch closed': 500,
  'arrive latch open': 500,
  'arrive latch unknown': 100,
  'arrive other': 100,
  'endGeneration barrier broken': 100,
  'endGeneration barrier open': 20,
  'endGeneration barrier unknown': 10,
  'endGeneration latch broken': 100,
  'endGeneration latch open': 50,
  'endGeneration latch unknown': 10,
  'endGeneration other': 10,
  'watch barrier broken': 100,
  'watch barrier closed': 500,
  'watch barrier open': 100,
  'watch barrier unknown': 50,
  'watch latch broken': 100,
  'watch latch closed': 200,
  'watch latch open': 200,
  'watch latch unknown': 50,
  'watch other': 100,
  'push broken expired': 100,
  'push broken deleted': 20,
  'push broken reset': 50,
  'push broken withdrawn': 50,
  'push open ': 100,
  counted: 2000,
  'not counted': 2000,
};

const server = new DifferentialServer<GateStep[], GateDifferential>(
  async (redis, replace) => new GateDifferential(redis, await loadGateScripts(redis, replace)),
);

describe.each(SERVERS)('gates on %s', (name) => {
  beforeAll(() => server.start(name));
  afterAll(() => server.stop());

  it('the scripts reply, push and store the same as the engine', async () => {
    console.log(`gates on ${name} ${server.version}: HOLDFAST_SEED=${SEED}`);
    await server.using({}, async (differential) => {
      const property = fc.asyncProperty(gateTraffic, (steps) => differential.run(steps));
      await fc.assert(property, { seed: SEED, numRuns: RUNS });
      const { seen } = differential;
      const rare = Object.entries(COVERAGE).filter(
        ([what, least]) => (seen.get(what) ?? 0) < least,
      );
      expect(rare, JSON.stringify([...seen])).toEqual([]);
      expect([...seen.keys()].filter((what) => COVERAGE[what] === undefined)).toEqual([]);
    });
  });

  it('the scripts and the engine agree on a history longer than the retention', async () => {
    await server.using({}, (differential) => differential.run(longHistory(70)));
  });

  it.each([stays, ...expires])(
    'the scripts and the engine agree on arrivals that stay alive',
    (...steps) => server.using({}, (differential) => differential.run(steps)),
  );
});

describe('the differential test of gates detects', () => {
  beforeAll(() => server.start('redis'));
  afterAll(() => server.stop());

  it.each(GATE_FAULTS.map((one) => [one.name, one] as const))('%s', (_, fault) =>
    server.finds(faulty(fault), gateTraffic, FAULT_RUNS, [
      longHistory(70),
      [...watchedAgain],
      [...stays],
      ...expires.map((steps) => [...steps]),
    ]),
  );
});
