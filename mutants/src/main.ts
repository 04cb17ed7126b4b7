/**
 * `npm run mutants [-- --seeds N] [--only TEXT] [--write]`: plants each mistake of the catalogue,
 * and lets the simulator look for it until it is found. The exit code is 1 if one is not. `--write`
 * puts the table into `docs/mutants.md`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MUTANTS } from './catalogue/all.js';
import { type Catch, hunt } from './hunt.js';
import type { Mutant } from './mutant.js';

const PAGE: string = fileURLToPath(new URL('../../docs/mutants.md', import.meta.url));
const HANGS_MS = 60_000;

function row({ name, mistake }: Mutant, { by, seeds }: Catch): string {
  return `| ${name} | ${mistake} | ${by ?? 'NOT CAUGHT'} | ${seeds} |`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '2000' },
      only: { type: 'string', default: '' },
      write: { type: 'boolean', default: false },
    },
  });
  const rows = ['| mutant | mistake | caught by | seeds |', '| --- | --- | --- | --- |'];
  let missed = 0;
  for (const mutant of MUTANTS.filter(({ name }) => name.includes(values.only))) {
    const found = await hunt(mutant, { from: 1, seeds: Number(values.seeds), limit: HANGS_MS });
    if (found.by === undefined) missed += 1;
    rows.push(row(mutant, found));
    console.log(rows.at(-1));
    if (found.by === 'crashes') console.log(found.text);
  }
  console.log(`${rows.length - 2 - missed} caught, ${missed} missed`);
  if (values.write) {
    const head = readFileSync(PAGE, 'utf8').split('\n| ')[0]?.trimEnd();
    writeFileSync(PAGE, `${head}\n\n${rows.join('\n')}\n`);
  }
  process.exitCode = missed === 0 ? 0 : 1;
}

await main();
