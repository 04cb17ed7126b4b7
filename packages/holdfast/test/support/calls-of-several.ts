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

/** The reply to the command. */
export function replyOfTwo(command: Short, raw: unknown): Reply {
  const [other, own] = repliesTo([command, command], raw);
  const wanted = command.op === 'acquire' ? 'granted' : 'absent';
  if (other?.status !== wanted)
    throw new Error(`the other mutex: ${other?.status}, not TypeScript`);
  if (own === undefined) throw new Error('the command was not executed, not TypeScript');
  return own;
}
