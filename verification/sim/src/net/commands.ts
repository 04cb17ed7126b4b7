/** Commands for several keys as commands for one key. */
import type {
  Command,
  KeyCommand,
  Renew,
} from '../../../../packages/holdfast/dist/engine/commands.js';

/** The keys that a command names. */
export function keysOf(command: Command): readonly string[] {
  return command.op === 'renewMany' ? command.keys : [command.key];
}

/** A command with the same effect for each key. */
export function singly(command: Command): KeyCommand[] {
  if (command.op !== 'renewMany') return [command];
  const { keys, ids, ttl, retention } = command;
  return keys.map((key, index): Renew => {
    return { op: 'renew', key, id: ids[index] as string, ttl, retention };
  });
}
