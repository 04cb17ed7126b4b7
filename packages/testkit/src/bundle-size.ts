/**
 * Measures how much of the library a program carries: bundles it as a user's bundler does. The
 * bench prints the figures and a test holds the limits.
 */
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

/** The size of one bundle, in bytes. */
export interface BundleSize {
  readonly minified: number;
  /** After gzip at its highest level. */
  readonly compressed: number;
  /** The same with the code that is loaded later, as one file has it: what a deployment carries. */
  readonly complete: { readonly minified: number; readonly compressed: number };
  /** The paths of the bundled modules. */
  readonly modules: readonly string[];
}

/** The greatest sizes of a bundle, in bytes. */
export type BundleLimit = Partial<Pick<BundleSize, 'minified' | 'compressed'>>;

/** A program that is measured. */
export interface Bundle {
  readonly title: string;
  readonly program: string;
  /** The limit that a test holds. */
  readonly limit: BundleLimit;
  readonly target: BundleLimit;
}

const KB = 1024;
/** The most by which a limit may be above the measured size. */
const HEAD_ROOM = 1.05;

/** The programs that are measured. */
export const BUNDLES: Readonly<Record<'whole' | 'mutex' | 'redis', Bundle>> = {
  whole: {
    title: 'Holdfast',
    program: "export { Holdfast } from 'holdfast';",
    limit: { minified: 160_300, compressed: 53_700 },
    target: { minified: 120 * KB, compressed: 36 * KB },
  },
  mutex: {
    title: 'mutex in memory',
    program: `
      export { HoldfastCore } from 'holdfast/core';
      export { memory } from 'holdfast/memory';
      export { createMutex } from 'holdfast/mutex';`,
    limit: { compressed: 39_450 },
    target: { compressed: 22 * KB },
  },
  redis: {
    title: 'mutex on Redis',
    program: `
      export { HoldfastCore } from 'holdfast/core';
      export { redis } from 'holdfast/redis';
      export { createMutex } from 'holdfast/mutex';`,
    limit: { compressed: 33_700 },
    target: {},
  },
};

/**
 * Bundles a program for Node into one minified ES module. The modules of Node and the clients stay
 * outside. Names of packages lead to their `dist`, so the packages must have been built.
 * @param program the source text of the program
 */
export async function bundleSize(program: string): Promise<BundleSize> {
  // loaded here, because most users of the test kit bundle nothing
  const { rolldown } = await import('rolldown');
  const here = fileURLToPath(import.meta.url);
  const bundle = await rolldown({
    input: 'program',
    platform: 'node',
    external: [/^node:/, 'ioredis', 'redis'],
    plugins: [
      {
        name: 'program',
        resolveId(id, importer) {
          if (id === 'program') return PROGRAM;
          return importer === PROGRAM ? this.resolve(id, here) : undefined;
        },
        load: (id) => (id === PROGRAM ? program : undefined),
      },
    ],
  });
  const { output } = await bundle.generate({ format: 'esm', minify: true });
  await bundle.close();
  const loaded = loadedAtStart(output);
  return {
    ...sizeOf(loaded),
    complete: sizeOf(output.filter((one) => one.type === 'chunk')),
    modules: loaded.flatMap(({ moduleIds }) => moduleIds).filter((id) => id !== PROGRAM),
  };
}

function sizeOf(chunks: readonly Chunk[]): { minified: number; compressed: number } {
  const code = Buffer.from(chunks.map((chunk) => chunk.code).join(''));
  return { minified: code.length, compressed: gzipSync(code, { level: 9 }).length };
}

/** The entry and the chunks that it imports. A chunk that `import()` loads later does not count. */
function loadedAtStart(output: readonly Output[]): Chunk[] {
  const chunks = new Map<string, Chunk>();
  for (const one of output) if (one.type === 'chunk') chunks.set(one.fileName, one);
  const found = new Set<Chunk>();
  const add = (chunk: Chunk | undefined): void => {
    if (chunk === undefined || found.has(chunk)) return;
    found.add(chunk);
    for (const name of chunk.imports) add(chunks.get(name));
  };
  for (const chunk of chunks.values()) if (chunk.isEntry) add(chunk);
  return [...found];
}

interface Chunk {
  readonly type: 'chunk';
  readonly fileName: string;
  readonly code: string;
  readonly moduleIds: readonly string[];
  readonly imports: readonly string[];
  readonly isEntry: boolean;
}

type Output = Chunk | { readonly type: 'asset' };

/** The name of the program in the bundler; no file has this name. */
const PROGRAM = '\0program';

/** What is wrong with a size: it exceeds its limit, or the limit leaves too much head-room. */
export function sizeProblems(size: BundleSize, limit: BundleLimit): string[] {
  return (['minified', 'compressed'] as const).flatMap((what) => {
    const most = limit[what] ?? Infinity;
    if (size[what] > most) return [`${what}: ${size[what]} bytes, the limit is ${most}`];
    const tight = Math.floor(size[what] * HEAD_ROOM);
    if (most === Infinity || most <= tight) return [];
    return [`${what}: ${size[what]} bytes, so lower the limit of ${most} to at most ${tight}`];
  });
}
