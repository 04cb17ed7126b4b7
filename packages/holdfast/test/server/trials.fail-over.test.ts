/** A fail-over while locks are granted: none that all replicas have acknowledged is lost. */
import { describe, expect, it } from 'vitest';
import { sentinelTrial as trial } from '../../../../verification/trials/src/fail-over.js';
import { parameters } from '../../../../verification/trials/src/trial.js';
import { untilShown } from '../support/until-shown.js';

const GIVEN = { server: 'valkey', client: 'node-redis-6' } as const;

// a fail-over takes seconds, so each way to lose the master is left to the long run
describe.concurrent(`trial ${trial.name}`, () => {
  it('holds with a master that is cut off from its replicas, then killed', async () => {
    const { problems, figures } = await trial.run(parameters(trial.share, GIVEN));
    expect(problems).toEqual([]);
    expect(figures['cut off from replicas, killed: held, with acknowledgement']).toBeGreaterThan(0);
    expect(figures['cut off from replicas, killed: lost, without acknowledgement']).toBeGreaterThan(
      0,
    );
  }, 120_000);

  it('finds the fault no-acknowledgement', async () => {
    const fault = 'no-acknowledgement';
    // a run whose replicas got all writes in time loses nothing
    await untilShown(['lost'], async () => {
      const { problems } = await trial.run(parameters(trial.share, { ...GIVEN, fault }));
      return problems.map((problem) => problem.replace(/ \(.*/s, ''));
    });
  }, 480_000);
});
