/**
 * The comparison of the Lua scripts with the TypeScript engine can fail: each planted fault of a
 * script is noticed. HOLDFAST_SEED repeats a run.
 */
import fc from 'fast-check';
import { type Server, startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Differential, loadScripts } from '../support/differential.js';
import { FAULTS, faulty } from '../support/faults.js';
import { HAND_OFF_FAULTS } from '../support/faults-hand-off.js';
import { CHANGE_FAULTS } from '../support/faults-change.js';
import { LIVENESS_FAULTS } from '../support/faults-liveness.js';
import { PARKING_FAULTS } from '../support/faults-parking.js';
import { PAUSE_FAULTS } from '../support/faults-pauses.js';
import { RENEWAL_FAULTS } from '../support/faults-renewal.js';
import { PLAIN_FAULTS } from '../support/faults-plain.js';
import { TOKEN_FAULTS } from '../support/faults-token.js';
import { TURN_FAULTS } from '../support/faults-turn.js';
import { rare } from '../support/rare.js';
import { type Step, traffic } from '../support/traffic.js';

const SEED = Number(process.env['HOLDFAST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** A fault counts as missed when this many sequences do not find it. */
const FAULT_RUNS = 4000;

describe('the differential test detects', () => {
  let server: Server;
  let redis: Redis;

  beforeAll(async () => {
    server = await startServer({ server: 'redis' });
    redis = new Redis(server.port, server.host);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  it.each(
    [
      ...FAULTS,
      ...PARKING_FAULTS,
      ...PAUSE_FAULTS,
      ...RENEWAL_FAULTS,
      ...CHANGE_FAULTS,
      ...TOKEN_FAULTS,
      ...HAND_OFF_FAULTS,
      ...LIVENESS_FAULTS,
      ...TURN_FAULTS,
      ...PLAIN_FAULTS,
    ].map((fault) => [fault.name, fault] as const),
  )('%s', { timeout: 300_000 }, async (_, fault) => {
    const differential = new Differential(redis, await loadScripts(redis, faulty(fault)));
    const subscriber = redis.duplicate();
    try {
      await differential.listen(subscriber);
      const run = (steps: Step[]): Promise<void> => differential.run(steps);
      const details = await fc.check(fc.asyncProperty(traffic, run), {
        seed: SEED,
        numRuns: FAULT_RUNS,
        endOnFailure: true,
        examples: rare.map(([, steps]): [Step[]] => [[...steps]]),
      });
      expect(details.failed, `${differential.operations} operations, all equal`).toBe(true);
      // an error of the script or of the test does not count as a detected difference
      expect(String(details.errorInstance)).toMatch(/TypeScript|user_script/);
    } finally {
      subscriber.disconnect();
    }
  });

  it('a fault with text that is not in the script', () => {
    expect(() => faulty({ name: 'x', edits: [['renew.lua', 'no such text', '']] })).toThrow(
      'x: found 0 times',
    );
    expect(() => faulty({ name: 'x', edits: [['renew.lua', 'local', '']] })).toThrow(/found \d\d?/);
  });
});
