/**
 * Guards: a transaction of the holder keeps the lock from a new holder until it ends.
 *
 *     free --guard--> guarded --commit, rollback, lost connection--> free
 *
 * The guard takes `FOR KEY SHARE` on the row of the lock, in the transaction of the program.
 * Changes that make no grant (renewals, waiters that join the queue) take `FOR NO KEY UPDATE`,
 * which does not conflict with it. Changes that make a grant take `FOR UPDATE` before, which does;
 * they do not wait but are held back (`SKIP LOCKED`). PostgreSQL moves the lock of the guard on to
 * each new version of the row. Foreign keys use the same locks ("Explicit Locking", chapter 13.3 of
 * its manual).
 *
 * Invariant: between the answer to a guard and the end of its transaction, no swap makes a grant.
 */
import { HoldfastError } from 'holdfast';
import { badOption, knownOptions, nameOf, standingOf } from 'holdfast/register';
import { runOn } from './detect.js';
import type { Row } from './driver.js';
import { failureOf, isOfServer, meaningOf } from './failures.js';
import type { QueryFunction } from './other-clients.js';
import { tableOf } from './options.js';
import { escaped, IN_TRANSACTION, quoted, statements } from './sql.js';

/** What `guard` needs of a lease. */
export interface GuardedLease {
  readonly key: string;
  readonly id: string;
  readonly fence: number;
  readonly held: boolean;
  readonly state?: string | undefined;
}

/**
 * The connection of a transaction: a client of `pg`, the `sql` of `sql.begin` of postgres.js, the
 * transaction of PGlite, or a function that runs a statement in it.
 */
export type Transaction =
  | { query(...args: never): unknown }
  | { readonly unsafe: (...args: never) => unknown }
  | QueryFunction;

/** Options of `guard`: those of the store and of the instance, if they have others than usual. */
export interface GuardOptions {
  /** As the option of `postgres`. */
  readonly table?: string | undefined;
  /** As the option of `Holdfast`. */
  readonly prefix?: string | undefined;
}

const OPTIONS: ReadonlySet<string> = new Set(['table', 'prefix']);

/**
 * Binds a lock to a transaction: until the transaction ends, no other process gets the lock, even
 * if the lease ends before, because the process of the holder was paused or cut off. Call it first
 * in the transaction, and release the lease after the transaction has ended. It takes two
 * statements, and changes no row. If the connection of the transaction is lost, the server rolls
 * back and the guard ends with it, as it does at the `ROLLBACK TO` of a savepoint before it.
 *
 * Rejects with `HOLDFAST_LOST` if the lease has ended: roll back then. Rejects with
 * `HOLDFAST_REFUSED` if the lease does not exclude others (a reader, one permit of several, one
 * with `sharedBy`), or if the server refuses the statement.
 * @param tx the transaction; it must have begun
 * @throws HOLDFAST_BAD_OPTION if `tx` is not in a transaction, if the table has no such lock, or if
 *   an argument is not valid
 */
export async function guard(
  lease: GuardedLease,
  tx: Transaction,
  options: GuardOptions = {},
): Promise<void> {
  knownOptions('options', options, OPTIONS);
  const { prefix = 'holdfast:' } = options;
  if (typeof prefix !== 'string') throw badOption('prefix', 'a string', prefix);
  const table = tableOf(options.table);
  const { key, id, fence, held } = checked(lease);
  const { guard: text } = statements(quoted(table));
  const [row] = await ask(tx, table, text, [escaped(nameOf(`${prefix}lock:${key}`))]);
  if (row === undefined && held) throw notThere(key, table, prefix);
  const [own] = await ask(tx, table, IN_TRANSACTION, []);
  // the lock of a row has an id, unless its transaction is over
  if (row !== undefined && (own?.['id'] ?? null) === null)
    throw badOption('tx', 'in a transaction', tx);
  const state = row?.['state'] ?? '';
  const standing = standingOf(state, { key, id, fence }, Number(row?.['time'] ?? 0));
  if (standing === 'shared') {
    const message = `Holdfast: the lease of "${key}" cannot be guarded: it does not exclude others`;
    throw new HoldfastError('HOLDFAST_REFUSED', message, { key });
  }
  // of a lease in doubt, the row knows more than its process
  if (standing === 'alone' && (lease.held || lease.state === 'doubted')) return;
  throw new HoldfastError('HOLDFAST_LOST', `Holdfast: the lease of "${key}" has ended`, { key });
}

function checked(lease: unknown): GuardedLease {
  const { key, id, fence } = (lease ?? {}) as Partial<GuardedLease>;
  if (typeof key === 'string' && typeof id === 'string' && typeof fence === 'number') {
    return lease as GuardedLease;
  }
  throw badOption('lease', 'the lease of one lock: guard those of allOf one by one', lease);
}

function notThere(key: string, table: string, prefix: string): HoldfastError {
  const why =
    `the table "${table}" has no lock "${key}" with the prefix "${prefix}": give guard the ` +
    'options "table" of the store and "prefix" of the instance; a lease of another store has none';
  return new HoldfastError('HOLDFAST_BAD_OPTION', `Holdfast: ${why}`, { key, option: 'table' });
}

/** A lost race keeps its own error: the program repeats the transaction. */
async function ask(
  tx: Transaction,
  table: string,
  text: string,
  values: readonly string[],
): Promise<readonly Row[]> {
  try {
    return await runOn(tx, text, values, 'tx');
  } catch (error) {
    if (!isOfServer(error) || meaningOf(error) === 'lost') throw error;
    const { kind, message } = failureOf(error, table);
    const code = kind === 'refused' ? 'HOLDFAST_REFUSED' : 'HOLDFAST_UNREACHABLE';
    const about = `Holdfast: guard (its option "table" is "${table}"): ${message}`;
    throw new HoldfastError(code, about, { cause: error });
  }
}
