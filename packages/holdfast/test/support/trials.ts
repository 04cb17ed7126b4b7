/** The trials in the test suite: a small run of each, and each fault that it must find. */
import { paced, type ServerName } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import type { ClientName } from '../../../../verification/trials/src/support/clients.js';
import { parameters, type Trial } from '../../../../verification/trials/src/trial.js';
import { untilShown } from './until-shown.js';

/** Both clients and both servers, each once; `npm run trials` can run the other pairs. */
const WHERE: readonly (readonly [ClientName, ServerName])[] = [
  ['ioredis-6', 'valkey'],
  ['node-redis-6', 'redis'],
];
const LIMIT_MS = 180_000;
/** A control may repeat its run. */
const CONTROL_MS = 900_000;

/**
 * Tests of a trial. Its worker processes run the compiled library.
 * @param findings the kinds of problems that each planted fault must cause
 * @param how `together`: the trial mostly waits, so its cases run in parallel. `alone`: the trial
 * loads the machine or measures short times, so its cases run one after another.
 */
export function shareOf(
  trial: Trial,
  findings: Readonly<Record<string, readonly string[]>>,
  how: 'together' | 'alone' = 'alone',
): void {
  const group = how === 'together' ? describe.concurrent : describe;
  group(`trial ${trial.name}`, () => {
    const limit = { timeout: paced(LIMIT_MS) };
    it.each(WHERE)('holds with %s on %s', limit, async (client, server) => {
      const { problems } = await trial.run(parameters(trial.share, { client, server }));
      expect(problems).toEqual([]);
    });

    it.each(trial.faults)('finds the fault %s', { timeout: paced(CONTROL_MS) }, async (fault) => {
      const given = { server: 'redis', client: 'ioredis-6', fault } as const;
      await untilShown(findings[fault] ?? ['no such fault'], async () => {
        const { problems } = await trial.run(parameters(trial.share, given));
        return problems.map((problem) => problem.replace(/ \(.*/s, ''));
      });
    });
  });
}
