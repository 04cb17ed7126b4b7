/** Lets the torture look for one mutant, on a real Redis. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { torture } from '../../torture/dist/torture.js';
import type { Mutant } from './mutant.js';
import { withMutant } from './plant.js';

/** What came of it. */
export interface Provoked {
  /** The checks that found something; none if nothing did. */
  readonly by: readonly string[];
  /** Seconds of faults until then; `undefined` if it was found when all was over. */
  readonly after: number | undefined;
  /** The first thing that was found. */
  readonly text: string;
}

const SIZE = { server: 'redis', processes: 6, tasks: 4, hunt: true } as const;

/** @param mutant `undefined` for the library as it is */
export function provoke(
  mutant: Mutant | undefined,
  run: { readonly seconds: number; readonly seed: number },
): Promise<Provoked> {
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
