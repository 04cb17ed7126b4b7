/** Runs the torture test against one mutant, on a real store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Parameters, torture } from '../../torture/dist/torture.js';
import type { Mutant } from './mutant.js';
import { withMutant } from './plant.js';

/** The result of one run. */
export interface Provoked {
  /** The checks that failed; empty if all passed. */
  readonly by: readonly string[];
  /** Seconds of faults until the first failure; `undefined` if a check after the end found it. */
  readonly after: number | undefined;
  /** The first finding. */
  readonly text: string;
}

const SIZE = { processes: 6, tasks: 4, hunt: true } as const;

export type Run = Pick<Parameters, 'server' | 'seconds' | 'seed'>;

/** @param mutant `undefined` for the unchanged library */
export function provoke(mutant: Mutant | undefined, run: Run): Promise<Provoked> {
  return withMutant(mutant, async (dist) => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-torture-'));
    // the processes of the torture inherit it
    process.env['HOLDFAST_DIST'] = dist;
    try {
      const { problems, foundAfter } = await torture({ ...SIZE, ...run, folder });
      const text = problems.list()[0]?.slice(0, 300) ?? '';
      return { by: problems.kinds, after: foundAfter, text };
    } catch (error) {
      return { by: ['crashes'], after: undefined, text: String(error) };
    } finally {
      delete process.env['HOLDFAST_DIST'];
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
