/**
 * Prepared statements, with which the server plans a statement once for a connection and not for
 * each call: that takes 0.4 of its time.
 *
 * A pooler may give each transaction another connection, which has not got the statement, or has it
 * from another client. The server then refuses the call and executes nothing. So the call is
 * repeated without a prepared statement, and from then on none is used. The name of a statement is
 * a hash of its text, so no call can meet another statement under its name.
 */
import { createHash } from 'node:crypto';
import type { Kind } from './driver.js';

/** "invalid_sql_statement_name" and "duplicate_prepared_statement". */
const NOT_THERE: ReadonlySet<unknown> = new Set(['26000', '42P05']);

export class Prepared {
  #works: boolean;
  readonly #names = new Map<string, string>();

  /** @param works false if no prepared statement is to be used */
  constructor(works: boolean) {
    this.#works = works;
  }

  /** @param run runs the statement, as a prepared one with that name if there is one */
  run<T>(
    text: string,
    kind: Kind | undefined,
    run: (name: string | undefined) => Promise<T>,
  ): Promise<T> {
    if (kind !== 'often' || !this.#works) return run(undefined);
    return run(this.#nameOf(text)).catch((error: unknown) => {
      if (!NOT_THERE.has((error as { code?: unknown } | undefined)?.code)) throw error;
      this.#works = false;
      return run(undefined);
    });
  }

  #nameOf(text: string): string {
    let name = this.#names.get(text);
    if (name === undefined) {
      name = `holdfast_${createHash('sha256').update(text).digest('hex').slice(0, 40)}`;
      this.#names.set(text, name);
    }
    return name;
  }
}
