/**
 * The reports of the public API, one for each entry of the package. They are in git.
 *
 *   node tools/api.mjs            writes the reports
 *   node tools/api.mjs --check    fails if a report is out of date
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../packages/holdfast/', import.meta.url));
const mode = argv.includes('--check') ? [] : ['--local'];

mkdirSync(`${folder}etc`, { recursive: true });
const configs = readdirSync(folder).filter((file) => /^api-extractor(\.\w+)?\.json$/.test(file));
for (const config of configs) {
  const args = ['run', ...mode, '--config', folder + config];
  const { status } = spawnSync('api-extractor', args, { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
