/** The package as it is published: it loads in each module system, runtime and tool. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { command, installed, installProject, tool, write } from './project.js';

const LIMIT = { timeout: 120_000 };
/** Four packages are packed. */
const PATIENT = { timeout: 400_000 };
const GOOD = {
  ...{ fence: true, own: true, across: true, doctor: true },
  ...{ redis: 'function', fencedSet: 'function' },
};

beforeAll(installProject, 600_000);

describe.each(['node-20.18', 'node-22.11', 'node-24', 'node-26', 'bun'])('%s', (runtime) => {
  it.each(['esm.mjs', 'cjs.cjs'])('runs %s', LIMIT, async (program) => {
    expect(JSON.parse(await command(tool(runtime), [program]))).toEqual(GOOD);
  });
});

it.each(['esm.mjs', 'cjs.cjs'])('deno runs %s', LIMIT, async (program) => {
  const args = ['run', '--allow-all', '--node-modules-dir=manual', program];
  expect(JSON.parse(await command(tool('deno'), args))).toEqual(GOOD);
});

it('has what users need, and nothing else', () => {
  const files = installed();
  for (const file of ['README.md', 'LICENSE', 'CHANGELOG.md', 'package.json'])
    expect([...files.keys()]).toContain(file);
  expect([...files.keys()].filter((file) => !/\.([cm]?js|d\.c?ts|md|json)$/.test(file))).toEqual([
    'LICENSE',
  ]);
  const manifest = JSON.parse(readFileSync(files.get('package.json') ?? '', 'utf8')) as object;
  expect(manifest).toHaveProperty(['exports', './package.json'], './package.json');
  // only the release step makes a package that may be published
  expect(manifest).toHaveProperty('private', true);
  const bytes = [...files.values()].reduce((sum, path) => sum + statSync(path).size, 0);
  expect(bytes).toBeLessThan(1_700_000);
  for (const [file, path] of files) {
    if (file.endsWith('js'))
      expect(readFileSync(path, 'utf8'), file).not.toMatch(/^\s*(\/\/|\*) /m);
  }
});

it('has the page that an error names', async () => {
  const program = `import { Holdfast, memory } from 'holdfast';
    import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
    try { new Holdfast(memory(), { wrong: 1 }) } catch ({ code, page }) {
      console.log(readFileSync(page.split('#')[0], 'utf8').includes('## ' + code));
    }`;
  write('page.mjs', program);
  expect(await command(tool('node-24'), ['page.mjs'])).toBe('true\n');
});

describe('TypeScript', () => {
  it.each([
    ['commonjs', 'node10'],
    ['node16', 'node16'],
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
    ['preserve', 'bundler'],
  ])(
    'finds the types with module %s and moduleResolution %s',
    LIMIT,
    async (module, resolution) => {
      const files = module.startsWith('node')
        ? ['typed.ts', 'typed.mts', 'typed.cts']
        : ['typed.ts'];
      const text = readFileSync(new URL('programs/typed.ts', import.meta.url), 'utf8');
      for (const file of files) write(file, text);
      const args = [
        '--noEmit',
        '--strict',
        '--types',
        'node',
        '--target',
        'es2022',
        // the types of browsers take longer to check than those of the package
        '--lib',
        'es2022',
        '--module',
        module,
      ];
      await command(tool('tsc'), [...args, '--moduleResolution', resolution, ...files]);
    },
  );

  it('reports a wrong use', LIMIT, async () => {
    write('wrong.ts', "import { Holdfast } from 'holdfast';\nnew Holdfast(42);\n");
    const args = ['--noEmit', '--strict', '--lib', 'es2022', '--types', 'node'];
    args.push('--module', 'commonjs', '--moduleResolution', 'node10');
    await expect(command(tool('tsc'), [...args, 'wrong.ts'])).rejects.toThrow(/TS2345/);
  });
});

it('ts-jest runs a test in CommonJS', LIMIT, async () => {
  write(
    'tsconfig.json',
    '{"compilerOptions":{"module":"commonjs","target":"es2022","strict":true}}',
  );
  write('jest.config.cjs', "module.exports = { preset: 'ts-jest' };");
  write(
    'typed.test.ts',
    `import { typed } from './typed';
    test('typed', async () => expect(await typed()).toEqual({ fence: true, refused: true }));`,
  );
  await command(tool('jest'), ['--ci', 'typed.test.ts']);
});

it('tsx runs TypeScript', LIMIT, async () => {
  write(
    'run.ts',
    "import { typed } from './typed';\nvoid typed().then((r) => console.log(r.fence));",
  );
  expect(await command(tool('tsx'), ['run.ts'])).toBe('true\n');
});

describe('a bundle', () => {
  it.each(['esm', 'cjs'])('of esbuild in the format %s', LIMIT, async (format) => {
    const input = format === 'esm' ? 'esm.mjs' : 'cjs.cjs';
    const outfile = `bundle-esbuild.${format === 'esm' ? 'mjs' : 'cjs'}`;
    const args = [input, '--bundle', '--platform=node', `--format=${format}`];
    await command(tool('esbuild'), [...args, `--outfile=${outfile}`]);
    const output = await command(process.execPath, [outfile, '--alone']);
    expect(JSON.parse(output)).toEqual(GOOD);
  });

  it('of vite', LIMIT, async () => {
    write('vite.config.mjs', 'export default { ssr: { noExternal: true } };');
    await command(tool('vite'), ['build', '--ssr', 'esm.mjs', '--outDir', 'vite', '--emptyOutDir']);
    const output = await command(process.execPath, ['vite/esm.mjs', '--alone']);
    expect(JSON.parse(output)).toEqual(GOOD);
  });
});

describe('a release', () => {
  const repository = fileURLToPath(new URL('../../../..', import.meta.url));
  const release = join(repository, 'tools/release.mjs');
  const address = 'https://git.example.org/locks/holdfast';

  it('packs all packages in the order of their needs, with their address', PATIENT, async () => {
    const args = [release, '--repository', address];
    const tarballs = (await command(process.execPath, args)).trim().split('\n');
    const manifests = await Promise.all(tarballs.map((path) => packed(path, 'package.json')));
    const names = ['holdfast', 'holdfast-dashboard', 'holdfast-otel', 'holdfast-cli'];
    const folders = [undefined, ...['dashboard', 'otel', 'cli'].map((name) => `packages/${name}`)];
    for (const [at, text] of manifests.entries()) {
      const manifest = JSON.parse(text);
      expect(manifest).toMatchObject({
        name: names[at],
        version: '0.1.0',
        repository: { type: 'git', url: `git+${address}.git` },
        bugs: { url: `${address}/issues` },
      });
      expect(manifest.repository.directory).toBe(folders[at]);
      expect(manifest).not.toHaveProperty('private');
      expect(manifest).not.toHaveProperty('devDependencies');
      expect(await packed(tarballs[at] as string, 'README.md')).toContain('# ');
    }
  });

  async function packed(tarball: string, file: string): Promise<string> {
    return command('tar', ['-xzOf', tarball, `package/${file}`]);
  }
});
