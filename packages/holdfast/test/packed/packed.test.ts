/** The package as it is published: it loads in each module system, runtime and tool. */
import { paced } from 'holdfast-testkit';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deadLinks } from '../../../../tools/package-links.mjs';
import { firstLocks } from './first-locks.js';
import { command, installed, installProject, tool, write } from './project.js';

const LIMIT = { timeout: paced(240_000) };
const GOOD = {
  ...{ fence: true, own: true, across: true, doctor: true },
  ...{ redis: 'function', fencedSet: 'function' },
};

beforeAll(installProject, 600_000);

interface Compiled {
  readonly module: string;
  readonly moduleResolution: string;
  readonly files: readonly string[];
}

/** The errors of each of these programs, compiled in the project by its TypeScript. */
async function typeErrors(programs: readonly Compiled[]): Promise<string[][]> {
  const args = ['compile.cjs', JSON.stringify(programs)];
  return JSON.parse(await command(process.execPath, args)) as string[][];
}

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
  expect(
    [...files.keys()].filter((file) => !/\.([cm]?js|[cm]?js\.map|d\.c?ts|md|json)$/.test(file)),
  ).toEqual(['LICENSE']);
  const manifest = JSON.parse(readFileSync(files.get('package.json') ?? '', 'utf8')) as object;
  expect(manifest).toHaveProperty(['exports', './package.json'], './package.json');
  // only the release step makes a package that may be published
  expect(manifest).toHaveProperty('private', true);
  const bytes = [...files.values()].reduce((sum, path) => sum + statSync(path).size, 0);
  // a third of it is source maps; all of it is there twice, for ES modules and CommonJS
  expect(bytes).toBeLessThan(2_860_000);
  for (const [file, path] of files) {
    if (file.endsWith('js'))
      expect(readFileSync(path, 'utf8'), file).not.toMatch(/^\s*(\/\/|\*) /m);
  }
});

it('names functions in a stack trace, and their modules with source maps', async () => {
  const program = `import { Holdfast, memory } from 'holdfast';
    const failed = await new Holdfast(memory()).mutex('a').tryAcquire({ ttl: 1 }).catch((e) => e);
    console.log(failed.stack);`;
  write('stack.mjs', program);
  const plain = await command(tool('node-24'), ['stack.mjs']);
  expect(plain).toMatch(/at Acquirer\.tryAcquire .*\n.*at Mutex\.tryAcquire/);
  const mapped = await command(tool('node-24'), ['--enable-source-maps', 'stack.mjs']);
  expect(mapped).toMatch(/at Acquirer\.tryAcquire .*primitives\/acquirer\.js:\d+/);
  // few files, so that a process reads few files
  const modules = [...installed().keys()].filter((file) => /^esm\/.*\.js$/.test(file));
  expect(modules.length).toBeLessThan(25);
});

it('has pages whose links lead to its own files', () => {
  const files = installed();
  const shipped = new Set(files.keys());
  const pages = [...files].filter(([file]) => file.endsWith('.md'));
  expect(pages.length).toBeGreaterThan(3);
  for (const [file, path] of pages) {
    expect([file, deadLinks(readFileSync(path, 'utf8'), { file, shipped })]).toEqual([file, []]);
  }
  // the control: the pages of the repository lead further
  const page = readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8');
  expect(deadLinks(page, { file: 'README.md', shipped }).length).toBeGreaterThan(5);
});

it('has the page that an error names', async () => {
  const program = `import { Holdfast, memory } from 'holdfast';
    import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
    try { new Holdfast(memory(), { wrong: 1 }) } catch ({ code, page }) {
      const file = page.split('#')[0].replace('npm:', 'node_modules/');
      console.log(readFileSync(file, 'utf8').includes('## ' + code));
    }`;
  write('page.mjs', program);
  expect(await command(tool('node-24'), ['page.mjs'])).toBe('true\n');
});

describe('TypeScript', () => {
  const CASES = [
    ['commonjs', 'node10'],
    ['node16', 'node16'],
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
    ['preserve', 'bundler'],
  ] as const;
  let errors: string[][];
  beforeAll(async () => {
    const text = readFileSync(new URL('programs/typed.ts', import.meta.url), 'utf8');
    for (const file of ['typed.ts', 'typed.mts', 'typed.cts']) write(file, text);
    write('wrong.ts', "import { Holdfast } from 'holdfast';\nnew Holdfast(42);\n");
    const programs = CASES.map(([module, moduleResolution]) => ({
      ...{ module, moduleResolution },
      files: module.startsWith('node') ? ['typed.ts', 'typed.mts', 'typed.cts'] : ['typed.ts'],
    }));
    write('broken.d.ts', 'export declare const missing: Missing;\n');
    const settings = { module: 'commonjs', moduleResolution: 'node10' };
    const controls = ['wrong.ts', 'broken.d.ts'].map((file) => ({ ...settings, files: [file] }));
    errors = await typeErrors([...programs, ...controls]);
  }, LIMIT.timeout);

  it.each(CASES)('finds the types with module %s and moduleResolution %s', (...one) => {
    expect(errors[CASES.findIndex(([name]) => name === one[0])]).toEqual([]);
  });

  it('reports a wrong use, and a mistake in declarations: control', () => {
    expect(errors.slice(CASES.length)).toEqual([
      [expect.stringContaining('TS2345')],
      [expect.stringContaining('TS2304')],
    ]);
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
  let tarballs: string[];
  /** Of a project outside of the repository, which has its packages and no other. */
  let folder: string;

  beforeAll(async () => {
    const args = [release, '--repository', address];
    tarballs = (await command(process.execPath, args)).trim().split('\n');
    folder = mkdtempSync(join(tmpdir(), 'holdfast-project-'));
    for (const tarball of tarballs) {
      const name = tarball.replace(/.*\/(.*)-[\d.]+\.tgz$/, '$1');
      const target = join(folder, 'node_modules', name);
      mkdirSync(target, { recursive: true });
      await command('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
    }
  }, 400_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('packs all packages in the order of their needs, with their address', async () => {
    const manifests = await Promise.all(tarballs.map((path) => packed(path, 'package.json')));
    const others = ['dashboard', 'otel', 'postgres', 'sqlite', 'etcd', 'cli'];
    const names = ['holdfast', ...others.map((name) => `holdfast-${name}`)];
    const folders = [undefined, ...others.map((name) => `packages/${name}`)];
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
    const [page] = await Promise.all(tarballs.map((path) => packed(path, 'README.md')));
    expect(page).toContain(`](${address}/blob/v0.1.0/docs/`);
  });

  it('has companions that load in both module systems, with their types', LIMIT, async () => {
    const modules = join(folder, 'node_modules');
    cpSync(
      join(repository, 'node_modules/@opentelemetry/api'),
      join(modules, '@opentelemetry/api'),
      { recursive: true },
    );
    const uses = { 'a.cjs': 'require', 'a.mjs': 'import', 'a.cts': 'types', 'a.mts': 'types' };
    const use = `const holdfast = new Holdfast(memory());
      const stop = instrument(holdfast);
      postgres(async () => []);
      sqlite('locks.db');
      etcd('http://127.0.0.1:2379');
      const view = dashboard(holdfast, { authorize: () => 'read' });
      void view.fetch(new Request('http://localhost/')).then(async (page) => {
        stop();
        console.log(page.status, (await page.text()).includes('<html'));
      });`;
    for (const [file, how] of Object.entries(uses)) {
      const names = {
        holdfast: 'Holdfast, memory',
        'holdfast-otel': 'instrument',
        'holdfast-dashboard': 'dashboard',
        'holdfast-postgres': 'postgres',
        'holdfast-sqlite': 'sqlite',
        'holdfast-etcd': 'etcd',
      };
      const lines = Object.entries(names).map(([name, used]) =>
        how === 'require'
          ? `const { ${used} } = require('${name}');`
          : `import { ${used} } from '${name}';`,
      );
      writeFileSync(join(folder, file), [...lines, use].join('\n'));
      if (how === 'types') continue;
      const runtime = tool('node-20.18');
      expect(await command(runtime, [join(folder, file)])).toBe('200 true\n');
    }
    const files = ['a.cts', 'a.mts'].map((file) => join(folder, file));
    const settings = { module: 'node16', moduleResolution: 'node16' };
    expect(await typeErrors([{ ...settings, files }])).toEqual([[]]);
  });

  firstLocks(() => folder);

  async function packed(tarball: string, file: string): Promise<string> {
    return command('tar', ['-xzOf', tarball, `package/${file}`]);
  }
});
