/** Runs the commands of `npm test` and `npm run check`. */
import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));
/** Longer than any check takes; a hung check is ended after this time. */
const LIMIT_MS = 40 * 60_000;

/**
 * @typedef {object} Run
 * @property {boolean} ok
 * @property {string} output
 */

/**
 * @typedef {object} How
 * @property {boolean} [show] Shows the output immediately instead of collecting it.
 * @property {number} [priority] The nice value of the process.
 */

/**
 * Runs a command of the repository.
 * @param {string} command
 * @param {string[]} args
 * @param {How} how
 * @returns {Promise<Run>}
 */
export function run(command, args, { show = false, priority }) {
  const path = `${join(root, 'node_modules/.bin')}${delimiter}${process.env['PATH']}`;
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, PATH: path },
    stdio: ['ignore', show ? 'inherit' : 'pipe', show ? 'inherit' : 'pipe'],
    timeout: LIMIT_MS,
  });
  if (priority !== undefined && child.pid !== undefined) setPriority(child.pid, priority);
  let output = '';
  const keep = (/** @type {Buffer} */ chunk) => {
    output += chunk.toString();
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ ok: false, output: String(error) }));
    child.on('close', (code, signal) => {
      const ending = signal === null ? '' : `ended by ${signal}\n`;
      resolve({ ok: code === 0, output: output + ending });
    });
  });
}
