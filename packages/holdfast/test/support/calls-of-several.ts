/**
 * A command of the differential test in a call for two mutexes: first one that no other command
 * uses, then its own.
 */
import type { Reply } from '../../src/engine/commands.js';
import { mainKeyOf } from '../../src/store/redis/keys.js';
import { argsOfMany, repliesTo, type Short } from '../../src/store/redis/several.js';

/** The keys and arguments of a script. */
export interface Call {
  readonly keys: string[];
  readonly args: string[];
}

/** @param index of the command in its sequence */
export function callOfTwo(prefix: string, command: Short, index: number): Call {
  const keys = [`other ${index}`, command.key].map((key) => mainKeyOf(prefix, key));
  const other = command.op === 'acquire' ? { token: 'other', waited: 7 } : {};
  const commands = [{ ...command, ...other }, command];
  if (index % 4 === 1) return { keys, args: argsOfMany(commands) };
  // as on a cluster, after the check of the node
  return { keys: [], args: argsOfMany(commands, ['', ...keys]) };
}

const WANTED = { acquire: 'granted', release: 'absent', inspect: 'inspected' } as const;

/** The reply to the command; `undefined` for an inspection that needs a call of its own. */
export function replyOfTwo(command: Short, raw: unknown): Reply | undefined {
  const [other, own] = repliesTo([command, command], raw);
  const wanted = WANTED[command.op];
  if (other?.status !== wanted)
    throw new Error(`the other mutex: ${other?.status}, not TypeScript`);
  if (own === undefined && command.op !== 'inspect')
    throw new Error('the command was not executed, not TypeScript');
  return own;
}
