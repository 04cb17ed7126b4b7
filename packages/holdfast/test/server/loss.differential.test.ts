/**
 * The Lua scripts behave as the TypeScript engine, also when the server loses some keys of a
 * resource and keeps the others: see `support/loss.ts`. HOLDFAST_SEED repeats a run.
 */
import fc from 'fast-check';
import { type Server, type ServerName, startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Differential, loadScripts } from '../support/differential.js';
import { faulty } from '../support/faults.js';
import { LOSS_FAULTS } from '../support/faults-loss.js';
import { lossyCrowd, type LossyStep, lossyTraffic } from '../support/loss.js';

const SEED = Number(process.env['HOLDFAST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = 250;
/** A fault counts as missed when this many sequences do not find it. */
const FAULT_RUNS = 2000;

let server: Server;
let redis: Redis;

async function start(name: ServerName): Promise<void> {
  server = await startServer({ server: name });
  redis = new Redis(server.port, server.host);
}

async function stop(): Promise<void> {
  redis.disconnect();
  await server.stop();
}

async function using(
  replace: Record<string, string>,
  work: (differential: Differential) => Promise<void>,
): Promise<void> {
  const differential = new Differential(redis, await loadScripts(redis, replace));
  const subscriber = redis.duplicate();
  try {
    await differential.listen(subscriber);
    await work(differential);
  } finally {
    subscriber.disconnect();
  }
}

describe.each<ServerName>(['redis', 'valkey'])('on %s, which loses keys,', (name) => {
  beforeAll(() => start(name));
  afterAll(stop);

  it('the scripts reply, push and store the same as the engine', { timeout: 300_000 }, async () => {
    console.log(`loss on ${name} ${server.version}: HOLDFAST_SEED=${SEED}`);
    await using({}, async (differential) => {
      const property = fc.asyncProperty(lossyTraffic, (steps) => differential.run(steps));
      // to shorten a sequence takes longer than the time limit
      await fc.assert(property, { seed: SEED, numRuns: RUNS, endOnFailure: true });
      const count = (what: string): number => differential.seen.get(what) ?? 0;
      expect(count('lost record')).toBeGreaterThan(100);
      expect(count('lost queue')).toBeGreaterThan(20);
      expect(count('lost expiries')).toBeGreaterThan(10);
    });
  });

  it('the scripts and the engine agree on many leases and many waiters', async () => {
    await using({}, (differential) => differential.run(lossyCrowd));
  });
});

describe('the differential test of lost keys detects', () => {
  beforeAll(() => start('redis'));
  afterAll(stop);

  it.each(LOSS_FAULTS.map((one) => [one.name, one] as const))(
    '%s',
    {
      timeout: 300_000,
    },
    async (_, fault) => {
      await using(faulty(fault), async (differential) => {
        const run = (steps: LossyStep[]): Promise<void> => differential.run(steps);
        const details = await fc.check(fc.asyncProperty(lossyTraffic, run), {
          ...{ seed: SEED, numRuns: FAULT_RUNS, endOnFailure: true },
          examples: [[lossyCrowd]],
        });
        expect(details.failed, `${differential.operations} operations, all equal`).toBe(true);
        // an error of the script or of the test does not count as a detected difference
        expect(String(details.errorInstance)).toMatch(/TypeScript|user_script/);
      });
    },
  );
});
