/**
 * The reports of the public API, one for each entry of the package. They are in git.
 *
 *   node tools/api.mjs            writes the reports
 *   node tools/api.mjs --check    fails if a report is out of date
 */
import { mkdirSync, readdirSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { CompilerState, Extractor, ExtractorConfig } from '@microsoft/api-extractor';

const folder = fileURLToPath(new URL('../packages/holdfast/', import.meta.url));
const localBuild = !argv.includes('--check');

mkdirSync(`${folder}etc`, { recursive: true });
const configs = readdirSync(folder)
  .filter((file) => /^api-extractor(\.\w+)?\.json$/.test(file))
  .map((file) => ExtractorConfig.loadFileAndPrepare(folder + file));
const [first] = configs;
if (first === undefined) throw new Error(`${folder} has no api-extractor.json`);
// the entries share most of their declarations: one program reads them once
const compilerState = CompilerState.create(first, {
  additionalEntryPoints: configs.map(({ mainEntryPointFilePath }) => mainEntryPointFilePath),
});
for (const config of configs) {
  const { succeeded } = Extractor.invoke(config, { localBuild, compilerState });
  if (!succeeded) process.exitCode = 1;
}
