/** The removal of rows whose states may be forgotten: a part of the file at a time. */
import type { Statement } from './client.js';
import type { Database } from './database.js';
import { ROWS, type Row, type Texts } from './sql.js';

/**
 * After so many new rows of this process, it looks at the next part, which has more of them. A
 * process may make few rows, so the first time and the first part are random.
 */
const EVERY = 200;

export class Sweeps {
  readonly #random: () => number;
  #added: number;
  /** The last key that was looked at; not set before the first look. */
  #after: string | undefined;

  /** @param random in [0, 1), for tests */
  constructor(random: () => number = Math.random) {
    this.#random = random;
    this.#added = Math.floor(random() * EVERY);
  }

  /**
   * Rows were added, and committed. The next part follows in a turn of its own: a sweep is a
   * transaction, and may close the file after an error.
   */
  added(count: number, database: Database): void {
    const before = this.#added;
    this.#added += count;
    if (Math.floor(before / EVERY) === Math.floor(this.#added / EVERY)) return;
    setImmediate(() => void this.#next(database).catch(() => undefined));
  }

  async #next(database: Database): Promise<void> {
    // the last instance may have closed the file since
    await database.run(({ statements, transaction }, time) => {
      this.#after ??= this.#anywhere(statements);
      const rows = statements.sweepable.all(this.#after) as Pick<Row, 'key' | 'forgetAt'>[];
      const old = rows.filter(({ forgetAt }) => forgetAt <= time);
      if (old.length > 0) {
        transaction(() => {
          for (const { key } of old) statements.sweep.run(key, time);
        });
      }
      this.#after = rows.length < ROWS ? '' : (rows.at(-1)?.key ?? '');
    }, false);
  }

  #anywhere({ count, keyAt }: Texts<Statement>): string {
    const { count: rows } = count.get() as { count: number };
    const row = keyAt.get(Math.floor(this.#random() * rows)) as Pick<Row, 'key'> | undefined;
    return row?.key ?? '';
  }
}
