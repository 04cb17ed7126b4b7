/** Exclusion by weight, in many processes: the read-write lock and the semaphore. */
import { paced } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import { trial } from '../../../../verification/trials/src/exclusion.js';
import { parameters } from '../../../../verification/trials/src/trial.js';

const ON = [
  ['rw', 'redis', 'ioredis-6'],
  ['rw', 'valkey', 'node-redis-6'],
  ['semaphore', 'redis', 'node-redis-6'],
  ['semaphore', 'valkey', 'ioredis-6'],
] as const;
const share = { ...trial.share, seconds: 1 };

describe('trial exclusion, by weight', () => {
  it.each(ON)('holds for %s on %s with %s', { timeout: paced(180_000) }, async (...on) => {
    const [primitive, server, client] = on;
    const { problems } = await trial.run(parameters(share, { primitive, server, client }));
    expect(problems).toEqual([]);
  });

  it.each(['rw', 'semaphore'] as const)(
    'finds that a %s lock holds more than its capacity',
    { timeout: paced(180_000) },
    async (primitive) => {
      const given = { primitive, server: 'redis', client: 'ioredis-6' } as const;
      const fault = 'asks-for-less';
      const { passed, problems } = await trial.run(parameters(share, { ...given, fault }));
      expect(passed).toBe(false);
      expect(problems.join(' ')).toContain('overlap');
    },
  );
});
