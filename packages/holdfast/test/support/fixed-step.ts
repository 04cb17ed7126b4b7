/** Commands with fixed values, for sequences that random traffic seldom draws. */
import type { KeyCommand } from '../../src/engine/commands.js';
import type { Resource } from '../../src/engine/resource.js';

/**
 * A fixed resize with the number 0 is a new change of its lease. A fixed turn with the fence 0
 * names the fence of its root, and `used` counts from there.
 */
export function fixed(command: KeyCommand, resource: Resource | undefined): KeyCommand {
  if (command.op === 'turn' && command.fence === 0) {
    const fence = resource?.holders.get(command.id)?.fence ?? 0;
    return { ...command, fence, used: fence + command.used };
  }
  if (command.op !== 'resize' || command.seq !== 0) return command;
  return { ...command, seq: changesOf(command.id, resource) + 1 };
}

/** The number of the last change of an acquisition that the store has seen. */
export function changesOf(id: string, resource: Resource | undefined): number {
  const holder = resource?.holders.get(resource.holds.get(id) ?? id);
  return (holder?.holds.get(id) ?? holder)?.changes ?? 0;
}
