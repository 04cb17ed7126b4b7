/**
 * A Prisma client without models, for SQL. `prisma generate` writes this configuration for an empty
 * schema; the generator itself is not a dependency, because it fetches a program.
 */
import { Buffer } from 'node:buffer';
import { createRequire } from 'node:module';
import { PrismaPg } from '@prisma/adapter-pg';
import { getPrismaClient, type Sql, sqltag } from '@prisma/client/runtime/client';
import type { PoolConfig } from 'pg';

const load = createRequire(import.meta.url);
/** The types of Node 20 do not have it. */
const { Module } = (globalThis as unknown as { WebAssembly: { Module: ModuleClass } }).WebAssembly;
type ModuleClass = new (bytes: Uint8Array) => never;
const COMPILER = '@prisma/client/runtime/query_compiler_fast_bg.postgresql';

const PrismaClient = getPrismaClient({
  previewFeatures: [],
  clientVersion: '7.10.0',
  engineVersion: '7.10.0',
  activeProvider: 'postgresql',
  inlineSchema:
    'generator client {\n  provider = "prisma-client"\n}\n\n' +
    'datasource db {\n  provider = "postgresql"\n}\n',
  runtimeDataModel: { models: {}, enums: {}, types: {} },
  parameterizationSchema: { strings: [], graph: 'AAAA' },
  compilerWasm: {
    getRuntime: () => Promise.resolve(load(`${COMPILER}.js`)),
    getQueryCompilerWasmModule: () => {
      const { wasm } = load(`${COMPILER}.wasm-base64.js`) as { wasm: string };
      return Promise.resolve(new Module(Buffer.from(wasm, 'base64')));
    },
    importName: './query_compiler_fast_bg.js',
  },
});

/** `Prisma` of a generated client. */
export const Prisma: { readonly sql: typeof sqltag } = { sql: sqltag };

/** What the tests use of a client, or of one of its transactions. */
export interface PrismaSql {
  $executeRaw(query: Sql): Promise<number>;
  $executeRawUnsafe(query: string, ...values: unknown[]): Promise<number>;
}

export interface PrismaLike extends PrismaSql {
  $transaction<T>(work: (tx: PrismaSql) => Promise<T>): Promise<T>;
  $disconnect(): Promise<void>;
}

export function prismaClient(connection: PoolConfig): PrismaLike {
  return new PrismaClient({ adapter: new PrismaPg(connection) }) as unknown as PrismaLike;
}
