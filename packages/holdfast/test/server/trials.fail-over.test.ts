/** A fail-over while locks are granted: none that all replicas have acknowledged is lost. */
import { describe, expect, it } from 'vitest';
import { sentinelTrial as trial } from '../../../../verification/trials/src/fail-over.js';
import { parameters } from '../../../../verification/trials/src/trial.js';
import { untilShown } from '../support/until-shown.js';

const KIND = 'cut off from replicas, killed';
const GIVEN = { server: 'valkey', client: 'node-redis-6' } as const;

// a fail-over takes seconds, so each way to lose the master is left to the long run
describe.concurrent(`trial ${trial.name}`, () => {
  it('holds with a master that is cut off from its replicas, then killed', async () => {
    // the run has its own control: locks that need no acknowledgement are lost, with some luck
    await untilShown(['held', 'lost'], async () => {
      const { problems, figures } = await trial.run(parameters(trial.share, GIVEN));
      expect(problems).toEqual([]);
      return [
        ...(figures[`${KIND}: held, with acknowledgement`] ? ['held'] : []),
        ...(figures[`${KIND}: lost, without acknowledgement`] ? ['lost'] : []),
      ];
    });
  }, 480_000);

  it('finds the fault no-acknowledgement', async () => {
    const fault = 'no-acknowledgement';
    // a run whose replicas got all writes in time loses nothing
    await untilShown(['lost'], async () => {
      const { problems } = await trial.run(parameters(trial.share, { ...GIVEN, fault }));
      return problems.map((problem) => problem.replace(/ \(.*/s, ''));
    });
  }, 480_000);
});
