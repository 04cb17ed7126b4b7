/** Stops this process inside its next change of a file of SQLite, when the runner asks for it. */
import { send } from 'holdfast-trials/support/workers';
import { openDatabase, type Statement } from '../sqlite/client.js';

type Run = (this: Statement, ...values: unknown[]) => unknown;

let armed = false;

/** A change by itself becomes a transaction, so that the process stops before the commit. */
function patched(run: Run): Run {
  return function stopping(...values) {
    const { database, source } = this;
    if (!armed || !/^(INSERT INTO|UPDATE) holdfast_locks/.test(source)) {
      return run.apply(this, values);
    }
    const isAlone = !database.inTransaction;
    if (isAlone) database.exec('BEGIN IMMEDIATE');
    try {
      const result = run.apply(this, values);
      armed = false;
      process.kill(process.pid, 'SIGSTOP');
      if (isAlone) database.exec('COMMIT');
      return result;
    } catch (error) {
      if (isAlone && database.inTransaction) database.exec('ROLLBACK');
      throw error;
    }
  };
}

export function stopWhenAsked(): void {
  const prepared = openDatabase(':memory:').prepare('SELECT 1');
  const statements = Object.getPrototypeOf(prepared) as { run: Run };
  statements.run = patched(statements.run);
  process.on('message', ({ type }: { type: string }) => {
    if (type === 'stop inside') armed = true;
    if (type !== 'stop nowhere') return;
    armed = false;
    void send('stops nowhere');
  });
}
