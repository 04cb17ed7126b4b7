/**
 * The same as `loss.differential.test.ts`, for latches and barriers: see `support/gate-loss.ts`.
 */
import fc from 'fast-check';
import { type Server, type ServerName, startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faulty } from '../support/faults.js';
import { GateDifferential, loadGateScripts } from '../support/gate-differential.js';
import { GATE_LOSS_FAULTS, type LossyGateStep, lossyGateTraffic } from '../support/gate-loss.js';

const SEED = Number(process.env['HOLDFAST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = 300;
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
  work: (differential: GateDifferential) => Promise<void>,
): Promise<void> {
  const differential = new GateDifferential(redis, await loadGateScripts(redis, replace));
  const subscriber = redis.duplicate();
  try {
    await differential.listen(subscriber);
    await work(differential);
  } finally {
    subscriber.disconnect();
  }
}

describe.each<ServerName>(['redis', 'valkey'])('on %s, which loses keys of gates,', (name) => {
  beforeAll(() => start(name));
  afterAll(stop);

  it('the scripts reply, push and store the same as the engine', { timeout: 300_000 }, async () => {
    console.log(`lost gates on ${name} ${server.version}: HOLDFAST_SEED=${SEED}`);
    await using({}, async (differential) => {
      const property = fc.asyncProperty(lossyGateTraffic, (steps) => differential.run(steps));
      await fc.assert(property, { seed: SEED, numRuns: RUNS });
      for (const part of ['record', 'arrivals', 'past', 'expiries']) {
        expect(differential.seen.get(`lost ${part}`) ?? 0, part).toBeGreaterThan(20);
      }
    });
  });
});

describe('the differential test of lost gates detects', () => {
  beforeAll(() => start('redis'));
  afterAll(stop);

  it.each(GATE_LOSS_FAULTS.map((one) => [one.name, one] as const))(
    '%s',
    {
      timeout: 300_000,
    },
    async (_, fault) => {
      await using(faulty(fault), async (differential) => {
        const run = (steps: LossyGateStep[]): Promise<void> => differential.run(steps);
        const options = { seed: SEED, numRuns: FAULT_RUNS, endOnFailure: true };
        const details = await fc.check(fc.asyncProperty(lossyGateTraffic, run), options);
        expect(details.failed, `${differential.operations} operations, all equal`).toBe(true);
        // an error of the script or of the test does not count as a detected difference
        expect(String(details.errorInstance)).toMatch(/TypeScript|user_script/);
      });
    },
  );
});
