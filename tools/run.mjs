/** Runs the commands of `npm test` and `npm run check`. */
import { spawn, spawnSync } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));
/**
 * A hung check is ended after this time. Beside busy programs, the tests that compute need more
 * than 40 minutes on two cores.
 */
const LIMIT_MS = 75 * 60_000;

/**
 * @typedef {object} Run
 * @property {boolean} ok
 * @property {string} output
 */

/**
 * @typedef {object} How
 * @property {boolean} [show] Shows the output immediately instead of collecting it.
 * @property {number} [priority] The nice value of the process.
 * @property {Record<string, string>} [env] More variables of its environment.
 */

/** @type {Set<number>} The commands that run at a low priority. */
const background = new Set();

/**
 * The processes of these commands, and the processes that they started, as a list of `ps`.
 * @param {Set<number>} commands
 * @returns {number[]}
 */
function processesOf(commands) {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'ppid=,pid='], { encoding: 'utf8' });
  const found = [...commands];
  const rows = (stdout ?? '').split('\n').map((row) => row.trim().split(/\s+/).map(Number));
  // the list grows while it is read
  for (const parent of found) {
    for (const [ppid, pid] of rows) if (ppid === parent && pid !== undefined) found.push(pid);
  }
  return found;
}

/**
 * Gives the commands that run at a low priority the ordinary one. Only root may do that; for other
 * users nothing changes.
 */
export function hurry() {
  for (const pid of processesOf(background)) {
    try {
      setPriority(pid, constants.priority.PRIORITY_NORMAL);
    } catch {
      // it has ended, or the user may not raise a priority
    }
  }
}

/**
 * Runs a command of the repository.
 * @param {string} command
 * @param {string[]} args
 * @param {How} how
 * @returns {Promise<Run>}
 */
export function run(command, args, { show = false, priority, env }) {
  const path = `${join(root, 'node_modules/.bin')}${delimiter}${process.env['PATH']}`;
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...env, PATH: path },
    stdio: ['ignore', show ? 'inherit' : 'pipe', show ? 'inherit' : 'pipe'],
    timeout: LIMIT_MS,
  });
  if (priority !== undefined && child.pid !== undefined) {
    setPriority(child.pid, priority);
    background.add(child.pid);
    child.on('exit', () => background.delete(Number(child.pid)));
  }
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
