/**
 * What a user waits for when a process starts: the import, the first lock and the second one,
 * beside the client alone and beside redlock. Each start is a new process, the kinds take turns,
 * and the library is the one that is published. Processor time is printed too: other programs do
 * not blur it.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startServer } from 'holdfast-testkit';
import { place } from './machine.js';
import type { Settings } from './settings.js';
import { spread } from './spread.js';

const PACK = fileURLToPath(new URL('../../tools/pack.mjs', import.meta.url));
const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url));

/** The work of each kind: it opens the client, and takes and releases a lock twice. */
const KINDS = {
  'the client alone': `
    const lock = async () => {
      await client.set('start', 'me', 'PX', 10_000, 'NX');
      await client.del('start');
    };`,
  redlock: `
    const { default: Redlock } = await load('redlock');
    const redlock = new Redlock([client]);
    const lock = async () => (await redlock.acquire(['start'], 10_000)).release();`,
  holdfast: `
    const { Holdfast } = await load('holdfast');
    const mutex = new Holdfast(client).mutex('start');
    const lock = async () => (await mutex.acquire()).release();`,
} as const;
type Kind = keyof typeof KINDS;

const FORMATS = {
  esm: 'const load = (name) => import(name);',
  cjs: 'const load = (name) => require(name);',
} as const;
type Format = keyof typeof FORMATS;

/** In ms. */
interface Start {
  readonly loaded: number;
  readonly first: number;
  readonly second: number;
  readonly cpu: number;
}

function program(kind: Kind, format: Format, port: number): string {
  return `
    const begin = performance.now();
    const since = () => performance.now() - begin;
    ${FORMATS[format]}
    void (async () => {
      const { Redis } = await load('ioredis');
      const client = new Redis({ host: '127.0.0.1', port: ${port} });
      ${KINDS[kind]}
      const loaded = since();
      await lock();
      const first = since();
      await lock();
      const second = since() - first;
      const { user, system } = process.cpuUsage();
      console.log(JSON.stringify({ loaded, first, second, cpu: (user + system) / 1000 }));
      process.exit();
    })();`;
}

/** `npm run bench -- --start` */
export async function printStarts({ server, rounds, quick }: Settings): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-start-'));
  await using target = await startServer({ server });
  try {
    install(folder);
    place('one core', target.pid);
    console.log(
      'start of a process, in ms: until the import, until the first lock, the second lock,',
    );
    console.log('processor time; the median and the extremes of the first lock, one core');
    for (const format of Object.keys(FORMATS) as Format[]) {
      const kinds = Object.keys(KINDS) as Kind[];
      const files = kinds.map((kind, at) => {
        const path = join(folder, `${format}-${at}.${format === 'esm' ? 'mjs' : 'cjs'}`);
        writeFileSync(path, program(kind, format, target.port));
        return path;
      });
      const starts = kinds.map((): Start[] => []);
      // the first start of each kind reads the files from disk
      for (let round = -1; round < (quick ? 1 : rounds * STARTS); round++) {
        for (const [at, path] of files.entries()) {
          const found = start(path);
          if (round >= 0) starts[at]?.push(found);
        }
      }
      for (const [at, kind] of kinds.entries()) print(format, kind, starts[at] ?? [], starts[0]);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Starts of each kind for each round of the settings. */
const STARTS = 3;

function start(path: string): Start {
  return JSON.parse(execFileSync(process.execPath, [path], { encoding: 'utf8' })) as Start;
}

function print(format: Format, kind: Kind, starts: readonly Start[], alone: Start[] = []): void {
  const median = (of: readonly Start[], what: keyof Start): number =>
    spread(of.map((one) => one[what])).median;
  const { min, max } = spread(starts.map(({ first }) => first));
  const figures = (['loaded', 'first', 'second', 'cpu'] as const).map((what) =>
    median(starts, what).toFixed(1),
  );
  const more = median(starts, 'first') - median(alone, 'first');
  const moreCpu = median(starts, 'cpu') - median(alone, 'cpu');
  console.log(
    `  ${format} ${kind.padEnd(17)} ${figures.join(', ')}; ${min.toFixed(0)}–${max.toFixed(0)}; ` +
      `beyond the client ${more.toFixed(1)}, processor ${moreCpu.toFixed(1)}`,
  );
}

/** The published form of the library, with the other packages of this repository beside it. */
function install(folder: string): void {
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  execFileSync(process.execPath, [PACK, '--out', join(modules, 'holdfast')]);
  for (const name of ['ioredis', 'redlock']) {
    symlinkSync(join(REPOSITORY, 'node_modules', name), join(modules, name));
  }
}
