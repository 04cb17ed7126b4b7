/**
 * Servers of a quorum fail and return. The times of grants are judged at full size only, because
 * another program may stop this one at any time.
 */
import { paced } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { trial } from '../../../../verification/trials/src/lost-servers.js';
import { parameters } from '../../../../verification/trials/src/trial.js';
import { untilShown } from '../support/until-shown.js';

it('trial lost-servers: fences grow, and there is one holder', {
  timeout: paced(180_000),
}, async () => {
  const given = parameters(trial.share, { server: 'valkey', client: 'node-redis-6' });
  const { figures } = await trial.run(given);
  expect(figures).toMatchObject({ 'fence regressions': 0, 'two holders': 0 });
  expect(figures['grants']).toBeGreaterThan(49);
});

it('trial lost-servers finds the fault three', { timeout: paced(180_000) }, async () => {
  const given = { server: 'redis', client: 'ioredis-6', fault: 'three' } as const;
  // a grant that takes too long on a busy machine fails, and is no measurement
  await untilShown(['slow'], async () => {
    const { problems } = await trial.run(parameters({ trials: 1, others: 1 }, given));
    return problems.map((problem) => problem.replace(/ \(.*/s, ''));
  });
});
