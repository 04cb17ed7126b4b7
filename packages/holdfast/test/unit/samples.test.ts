/**
 * The samples of README.md and `docs/*.md` compile under `strict`, against the built types of the
 * packages. A name that a sample does not declare is that of `KNOWN`, or `any`.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../..', import.meta.url));

/** Types of names that samples use and do not declare. */
const KNOWN: Readonly<Record<string, string>> = {
  holdfast: "import('holdfast').Holdfast",
  election: "import('holdfast').Election",
  mutex: "import('holdfast').Mutex",
  lock: "import('holdfast').RwLock",
  lease: "import('holdfast').Lease",
  signal: 'AbortSignal',
  redis: "import('ioredis').Redis",
  pool: "import('pg').Pool",
  trx: "import('knex').Knex.Transaction",
  connection: "import('mysql2/promise').Connection",
  fencedPut: "typeof import('holdfast/fence').fencedPut",
  cron: '(at: string, job: (tick: Date) => Promise<void>) => void',
  expect: "typeof import('vitest').expect",
  it: "typeof import('vitest').it",
  ResultSetHeader: "import('mysql2').ResultSetHeader",
  RowDataPacket: "import('mysql2').RowDataPacket",
  vi: "typeof import('vitest').vi",
};
const TYPES = ['Holdfast', 'memory'];

interface Sample {
  readonly name: string;
  readonly code: string;
}

/** The samples of a page, each named by its page and line. */
function samplesOf(path: string, text: string): Sample[] {
  return [...text.matchAll(/^( *)```ts\n([^]*?)^ *```/gm)].map((found) => {
    const { index, 1: indent, 2: code = '' } = found;
    const line = text.slice(0, index).split('\n').length;
    const lines = code.split('\n').map((one) => one.replace(`${indent}`, ''));
    return { name: `${path.replace(/\W/g, '_')}_${line}`, code: lines.join('\n') };
  });
}

/** The names that a line declares. */
function namesIn(line: string): string[] {
  const declared = /^(?:const|let|await using) [{[]*\s*([\w, ]+)/.exec(line)?.[1] ?? '';
  return declared.split(',').flatMap((name) => name.trim() || []);
}

/** A module. A paragraph or line that declares a name again, as another process, is a block. */
function moduleOf(code: string): string {
  const lines = code.replaceAll('{ … }', '{ return undefined as any; }').replaceAll('…', '');
  const imports = lines.match(/^import [^]*?;$/gm) ?? [];
  const own = TYPES.filter((name) => !imports.some((one) => one.includes(name)));
  const parts: string[][] = [[]];
  for (const line of lines.replace(/^import [^]*?;$/gm, '').split('\n')) {
    const part = parts.at(-1) as string[];
    const names = new Set(namesIn(line));
    const again = (one: string): boolean => namesIn(one).some((name) => names.has(name));
    if (part.some(again)) {
      const paragraph = part.slice(part.lastIndexOf('') + 1);
      const moved = paragraph.some(again) ? [] : part.splice(part.length - paragraph.length);
      parts.push([...moved, line]);
    } else part.push(line);
  }
  const [only = [], ...others] = parts;
  const blocks = others.length === 0 ? only : parts.flatMap((part) => ['{', ...part, '}']);
  return [`import { ${own.join(', ')} } from 'holdfast';`, ...imports, ...blocks, ''].join('\n');
}

const OPTIONS = {
  target: 'es2023',
  lib: ['es2023', 'esnext.disposable', 'esnext.decorators'],
  module: 'nodenext',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  useUnknownInCatchVariables: false,
  skipLibCheck: true,
  noEmit: true,
  types: ['node'],
};

/** What the compiler says about the samples: `NAME: error TS…`. */
async function problemsOf(samples: readonly Sample[]): Promise<string[]> {
  mkdirSync(join(root, '.cache'), { recursive: true });
  // inside the repository, so that the packages are found
  const folder = mkdtempSync(join(root, '.cache/samples-'));
  const compile = async (unknown: ReadonlySet<string>): Promise<string[]> => {
    const lines = [...unknown].map((name) => {
      const type = KNOWN[name] ?? 'any';
      return `declare const ${name}: ${type}; type ${name} = ${type};`;
    });
    writeFileSync(join(folder, 'names.d.ts'), lines.join('\n'));
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const run = promisify(execFile)(process.execPath, [tsc, '-p', folder, '--pretty', 'false']);
    const output = await run.then(
      ({ stdout }) => stdout,
      (error: { stdout: string }) => error.stdout,
    );
    const found = output.matchAll(/(\w+)\.ts\(\d+,\d+\): (error .*)/g);
    return [...found].map(([, name, text]) => `${name}: ${text}`);
  };
  try {
    for (const { name, code } of samples) writeFileSync(join(folder, `${name}.ts`), moduleOf(code));
    const config = { compilerOptions: OPTIONS, include: ['*.ts'] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const first = await compile(new Set());
    const missing = /TS(?:2304|2552|2503|2582|2593|18004): .*?'(\w+)'/;
    return await compile(new Set(first.flatMap((line) => missing.exec(line)?.[1] ?? [])));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)];
const samples = pages
  .filter((path) => path.endsWith('.md'))
  .flatMap((path) => samplesOf(path, readFileSync(join(root, path), 'utf8')));

const planted = {
  name: 'planted',
  code: "const lease = await mutex.acquire();\n\nconst lease = await holdfast.mutex('k').take();\n",
};
let found: string[];

beforeAll(async () => {
  found = await problemsOf([...samples, planted]);
});

it('each sample of the pages compiles under strict', () => {
  expect(samples.length).toBeGreaterThan(50);
  expect(found.filter((one) => !one.startsWith('planted'))).toEqual([]);
});

it('the check reports a sample that does not compile', () => {
  expect(found.filter((one) => one.startsWith('planted'))).toEqual([
    expect.stringContaining("Property 'take' does not exist on type 'Mutex'"),
  ]);
});
