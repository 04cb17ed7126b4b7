/** Disturbances that lose no data: a share of each trial, and the faults that it must find. */
import { describe, expect, it } from 'vitest';
import {
  disturbedCluster,
  disturbedSentinel,
} from '../../../../verification/trials/src/disturbed.js';
import { trial as sharded } from '../../../../verification/trials/src/sharded.js';
import {
  type Parameters,
  parameters,
  type Trial,
} from '../../../../verification/trials/src/trial.js';
import { untilShown } from '../support/until-shown.js';

const LIMIT_MS = 480_000;
type Given = Partial<Parameters> & Pick<Parameters, 'server' | 'client'>;

const problems = async (trial: Trial, given: Given): Promise<readonly string[]> =>
  (await trial.run(parameters(trial.share, given))).problems;

/** With clients that do not hide the fault: under Sentinel, ioredis refuses replicas itself. */
const CASES = [
  [disturbedSentinel, 'writable-replica', 'node-redis-6', 'lost'],
  [disturbedSentinel, 'untold-password', 'ioredis-6', 'stuck'],
  [disturbedCluster, 'one-sided', 'node-redis-6', 'stuck'],
  [sharded, 'spreads-later', 'ioredis-6', 'two holders'],
] as const;

// a round takes seconds: all kinds but the first one are left to the long run
describe.concurrent.each([
  [disturbedSentinel.name, disturbedSentinel, 'node-redis-6'],
  [disturbedCluster.name, disturbedCluster, 'ioredis-6'],
  [sharded.name, sharded, 'node-redis-6'],
] as const)('trial %s', (_, trial, client) => {
  it(
    'holds',
    async () => {
      expect(await problems(trial, { server: 'valkey', client })).toEqual([]);
    },
    LIMIT_MS,
  );

  it.each(CASES.filter(([one]) => one === trial))(
    'finds a planted fault (%#)',
    async (...about) => {
      const [, fault, on, kind] = about;
      await untilShown([kind], async () => {
        const found = await problems(trial, { server: 'redis', client: on, fault });
        return found.map((problem) => problem.replace(/ \(.*/s, ''));
      });
    },
    LIMIT_MS,
  );

  it('has a control for each of its faults', () => {
    const controlled = CASES.filter(([one]) => one === trial).map(([, fault]) => fault);
    expect(controlled).toEqual(trial.faults);
  });
});
