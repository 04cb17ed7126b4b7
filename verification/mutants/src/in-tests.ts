/**
 * Runs the tests that a mutant names, with the mistake planted into the sources. Vitest loads the
 * sources and reads the edited files from a file; see `planted.ts`.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Mutant } from './mutant.js';
import { editedSources } from './plant.js';
import { PLANTED } from './planted.js';
import { type Ended, outputOf } from './programs.js';

const ROOT: string = fileURLToPath(new URL('../../..', import.meta.url));
const VITEST: string = join(ROOT, 'node_modules/vitest/vitest.mjs');

/** A test that waits for what does not come has failed. */
const TIMEOUT = '--testTimeout=60000';

/** A test file, by the end of its path, and a part of the titles in it. */
export interface Named {
  readonly file: string;
  readonly title: string | undefined;
}

/** @throws Error if the text is not the end of a path, with or without `: ` and a title */
export function namedBy(elsewhere: string): Named {
  const [, file, title] = /^([\w./-]+\/[\w./-]+\.test\.ts)(?:: (.+))?$/.exec(elsewhere) ?? [];
  if (file === undefined) throw new Error(`${JSON.stringify(elsewhere)} names no test file`);
  return { file, title };
}

/** The result of the tests. They end at the first failure. */
export interface Tested {
  /** The title of the test that failed, or of more that failed at the same time. */
  readonly failed: readonly string[];
  readonly passed: number;
  /** The output, if something else failed: a file that cannot be loaded, an unhandled rejection. */
  readonly error: string | undefined;
}

/** True if the tests have run and found something. A mistake that nothing can load is not found. */
export const isFinding = ({ failed, passed, error }: Tested): boolean =>
  failed.length > 0 || (error !== undefined && passed > 0);

/** True if tests have run, and found nothing. */
export const isClean = ({ failed, passed, error }: Tested): boolean =>
  failed.length === 0 && passed > 0 && error === undefined;

/** @param mutant `undefined` for the unchanged library */
export async function testsOf(mutant: Mutant | undefined, named: Named): Promise<Tested> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-mutant-'));
  try {
    const texts = join(folder, 'texts.json');
    const results = join(folder, 'results.json');
    writeFileSync(texts, JSON.stringify(mutant === undefined ? {} : await editedSources(mutant)));
    const words = [VITEST, 'run', named.file, '--root', ROOT];
    words.push('--reporter=json', `--outputFile=${results}`, '--bail=1', TIMEOUT);
    if (named.title !== undefined) words.push('--testNamePattern', literal(named.title));
    const ended = await outputOf(words, { ...process.env, [PLANTED]: texts });
    return result(JSON.parse(readFileSync(results, 'utf8')) as Report, ended);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The report of vitest, as far as it is used. */
interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[];
  }[];
}

function result({ numPassedTests, testResults }: Report, { code, output }: Ended): Tested {
  const cases = testResults.flatMap(({ assertionResults }) => assertionResults);
  const failed = cases.filter(({ status }) => status === 'failed').map(({ title }) => title);
  const hasError = failed.length === 0 && code !== 0;
  return { failed, passed: numPassedTests, error: hasError ? output.slice(-2000) : undefined };
}

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
