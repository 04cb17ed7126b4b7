/** Leases while their master starts again, or a server with another clock takes over. */
import { describe, expect, it } from 'vitest';
import {
  clocksCluster,
  clocksSentinel,
  restartedCluster,
  restartedSentinel,
} from '../../../../verification/trials/src/changed-masters.js';
import { parameters, type Trial } from '../../../../verification/trials/src/trial.js';
import { untilShown } from '../support/until-shown.js';

const LIMIT_MS = 480_000;
const TRIALS: readonly Trial[] = [
  restartedSentinel,
  restartedCluster,
  clocksSentinel,
  clocksCluster,
];

// a round mostly waits, for seconds: all kinds but the first one are left to the long run
describe.concurrent.each(TRIALS.map((trial) => [trial.name, trial] as const))(
  'trial %s',
  (_, trial) => {
    const given = { server: 'valkey', client: 'ioredis-6' } as const;
    const runs = async (fault?: string): Promise<readonly string[]> =>
      (await trial.run(parameters(trial.share, { ...given, fault }))).problems;

    it('holds', async () => expect(await runs()).toEqual([]), LIMIT_MS);

    it.each(trial.faults)(
      'finds the fault %s',
      async (fault) => {
        // on a busy machine, the leases may end before the other process asks
        await untilShown(['lost'], async () =>
          (await runs(fault)).map((problem) => problem.replace(/ \(.*/s, '')),
        );
      },
      LIMIT_MS,
    );
  },
);
