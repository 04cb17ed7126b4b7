/**
 * A process with several tasks that take turns with one lock. Each turn leaves two lines in a log,
 * which all processes append to: `in FENCE PID` and `out FENCE PID`.
 */
import { appendFileSync } from 'node:fs';
import { Holdfast } from 'holdfast';
import { sqlite } from 'holdfast-sqlite';

/**
 * @typedef {object} Terms
 * @property {string} file
 * @property {string} log
 * @property {number} tasks
 * @property {number} turns
 * @property {number} ttl
 * @property {number} [claimWindow]
 * @property {number} [lastTurn] The process kills itself inside of this turn.
 * @property {'node:sqlite' | 'better-sqlite3'} [client]
 */

/** @type {Terms} */
const terms = JSON.parse(process.argv[2] ?? '');
const { file, log, tasks, turns, ttl, client, claimWindow, lastTurn } = terms;
// each turn may be that of another process
const holdfast = new Holdfast(sqlite(file, { client }), { localHandOffs: 0, claimWindow });
const mutex = holdfast.mutex('turns', { ttl });

const write = (/** @type {string} */ what, /** @type {number} */ fence) =>
  appendFileSync(log, `${what} ${fence} ${process.pid}\n`);

async function task() {
  for (let turn = 0; turn < turns; turn++) {
    await mutex.run(async ({ fence }) => {
      write('in', fence);
      if (turn === lastTurn) process.kill(process.pid, 'SIGKILL');
      await new Promise((resolve) => setTimeout(resolve, 1));
      write('out', fence);
    });
  }
}

await Promise.all(Array.from({ length: tasks }, task));
await holdfast.close();
process.disconnect?.();
