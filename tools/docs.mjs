/**
 * Generates the API reference from the doc comments, as Markdown in `docs/api` (not in git).
 *
 *   node tools/docs.mjs            writes the reference
 *   node tools/docs.mjs --check    writes it to `.cache/api-docs`
 *
 * Fails if a doc comment is malformed, if a link names a declaration that does not exist, or if a
 * page links to a page that does not exist.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { deadPageLinks } from './docs-links.mjs';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';

/** The style of this repository has no hyphen after the name of a parameter. */
const STYLE = 'tsdoc-param-tag-missing-hyphen';

const root = fileURLToPath(new URL('..', import.meta.url));
const source = join(root, 'packages/holdfast');
const model = join(root, '.cache/api-model');
const out = join(root, argv.includes('--check') ? '.cache/api-docs' : 'docs/api');

/**
 * Writes the model of all entries as one package. Returns what is wrong with the doc comments.
 * @returns {string[]}
 */
function writeModel() {
  const manifest = readFileSync(join(source, 'package.json'), 'utf8');
  /** @type {{ exports: Record<string, { types: string }> }} */
  const { exports } = JSON.parse(manifest);
  const all = join(source, 'dist/reference.d.ts');
  const lines = Object.values(exports).map(
    ({ types }) => `export * from '${types.replace('/dist', '').replace('.d.ts', '.js')}';\n`,
  );
  const [comment] = readFileSync(join(source, 'src/index.ts'), 'utf8').split('export ', 1);
  writeFileSync(all, comment + lines.join(''));
  mkdirSync(model, { recursive: true });
  const config = ExtractorConfig.prepare({
    configObject: {
      projectFolder: source,
      mainEntryPointFilePath: all,
      compiler: { tsconfigFilePath: join(source, 'tsconfig.json') },
      docModel: { enabled: true, apiJsonFilePath: join(model, 'holdfast.api.json') },
      messages: {
        extractorMessageReporting: {
          default: { logLevel: ExtractorLogLevel.None },
          'ae-unresolved-link': { logLevel: ExtractorLogLevel.Warning },
        },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.Warning } },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(source, 'package.json'),
  });
  /** @type {string[]} */
  const problems = [];
  Extractor.invoke(config, {
    localBuild: true,
    messageCallback: (message) => {
      message.handled = true;
      const { messageId, sourceFilePath, sourceFileLine, text } = message;
      const isWrong = messageId.startsWith('tsdoc-') || messageId === 'ae-unresolved-link';
      if (isWrong && messageId !== STYLE)
        problems.push(`${sourceFilePath}:${sourceFileLine}: ${messageId}: ${text}`);
    },
  });
  rmSync(all);
  return problems;
}

const problems = writeModel();
rmSync(out, { recursive: true, force: true });
const command = join(root, 'node_modules/.bin/api-documenter');
const output = execFileSync(command, ['markdown', '-i', model, '-o', out], { encoding: 'utf8' });
problems.push(...output.split('\n').filter((line) => /^\s*(warning|error)/i.test(line)));
const pages = readdirSync(out).map((file) => {
  return /** @type {const} */ ([file, readFileSync(join(out, file), 'utf8')]);
});
problems.push(...deadPageLinks(new Map(pages)));
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
} else {
  console.log(`${readdirSync(out).length} pages in ${out}`);
}
