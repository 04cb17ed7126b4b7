/**
 * A process that counts in a file, under a lock of the register in files. Each turn leaves two
 * lines in a log, which all processes append to: `in FENCE PID` and `out FENCE PID`.
 */
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast } from 'holdfast';
import { register } from 'holdfast/register';

/**
 * @typedef {object} Terms
 * @property {string} root
 * @property {string} number The file with the number.
 * @property {string} log
 * @property {number} ttl
 * @property {number} [lastTurn] The process kills itself inside of this turn.
 */

// the compiler builds the examples later
const built = new URL('../../../../examples/dist/stores/file-register.js', import.meta.url).href;
/** @type {typeof import('../../../../examples/src/stores/file-register.js')} */
const { FileRegister } = await import(built);

/** @type {Terms} */
const { root, number, log, ttl, lastTurn } = JSON.parse(process.argv[2] ?? '');
// each turn may be that of another process
const holdfast = new Holdfast(register(new FileRegister(root)), { localHandOffs: 0 });
const mutex = holdfast.mutex('number', { ttl });
let isOver = false;
process.once('message', () => {
  isOver = true;
});

for (let turn = 0; !isOver; turn++) {
  await mutex.run(async ({ fence }) => {
    appendFileSync(log, `in ${fence} ${process.pid}\n`);
    const count = Number(readFileSync(number, 'utf8'));
    if (turn === lastTurn) process.kill(process.pid, 'SIGKILL');
    await sleep(1);
    // a process that is killed while it writes must not leave an empty file
    writeFileSync(`${number}.${process.pid}`, `${count + 1}`);
    renameSync(`${number}.${process.pid}`, number);
    appendFileSync(log, `out ${fence} ${process.pid}\n`);
  });
}
await holdfast.close();
process.disconnect?.();
