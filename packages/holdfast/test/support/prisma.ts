/**
 * A Prisma client for SQL. `prisma/client` is what `npx prisma@7.10.0 generate` writes for
 * `prisma/schema.prisma`, without the two files for browsers. It is in git, because the generator
 * has 230 MB.
 */
import { PrismaPg } from '@prisma/adapter-pg';
import type { Sql, sqltag } from '@prisma/client/runtime/client';
import type { PoolConfig } from 'pg';

/** What the tests use of a client, or of one of its transactions. */
export interface PrismaSql {
  $executeRaw(query: Sql): Promise<number>;
  $executeRawUnsafe(query: string, ...values: unknown[]): Promise<number>;
}

export interface PrismaLike extends PrismaSql {
  $transaction<T>(work: (tx: PrismaSql) => Promise<T>): Promise<T>;
  $disconnect(): Promise<void>;
}

interface Generated {
  readonly Prisma: {
    readonly sql: typeof sqltag;
    readonly prismaVersion: { readonly client: string };
  };
  readonly PrismaClient: new (options: { adapter: PrismaPg }) => PrismaLike;
}

// the compiler does not read generated code: its imports end with `.ts`
const path = './prisma/client/client.ts';
const { Prisma, PrismaClient } = (await import(/* @vite-ignore */ path)) as Generated;

export { Prisma };

export function prismaClient(connection: PoolConfig): PrismaLike {
  return new PrismaClient({ adapter: new PrismaPg(connection) });
}
