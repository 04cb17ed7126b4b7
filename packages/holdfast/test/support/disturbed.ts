/** Disturbances that lose no data: a share of a trial, and the faults that it must find. */
import { paced } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import {
  type Parameters,
  parameters,
  type Trial,
} from '../../../../verification/trials/src/trial.js';
import { untilShown } from './until-shown.js';

const LIMIT_MS = 900_000;
type Client = Parameters['client'];

/** With a client that does not hide the fault, and the kind of problem that it causes. */
export type Control = readonly [fault: string, client: Client, kind: string];

/**
 * A round takes seconds: all kinds but the first one are left to the long run. The programs of a
 * trial keep a process busy, so the cases run one after another.
 */
export function disturbedShare(trial: Trial, client: Client, controls: readonly Control[]): void {
  const problems = async (given: Partial<Parameters>): Promise<readonly string[]> =>
    (await trial.run(parameters(trial.share, { server: 'valkey', client, ...given }))).problems;

  describe(`trial ${trial.name}`, { timeout: paced(LIMIT_MS) }, () => {
    it('holds', async () => {
      expect(await problems({})).toEqual([]);
    });

    it.each(controls)('finds the fault %s', async (fault, on, kind) => {
      await untilShown([kind], async () => {
        const found = await problems({ server: 'redis', client: on, fault });
        return found.map((problem) => problem.replace(/ \(.*/s, ''));
      });
    });

    it('has a control for each of its faults', () => {
      expect(controls.map(([fault]) => fault)).toEqual(trial.faults);
    });
  });
}
