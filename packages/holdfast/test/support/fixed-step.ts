/** Commands with fixed values, for sequences that random traffic seldom draws. */
import type { Command } from '../../src/engine/commands.js';
import type { Resource } from '../../src/engine/resource.js';

/** A fixed resize with the fence 0 names the present fence of its lease. */
export function fixed(command: Command, resource: Resource | undefined): Command {
  if (command.op !== 'resize' || command.fence !== 0) return command;
  const root = resource?.holds.get(command.id) ?? command.id;
  return { ...command, fence: resource?.holders.get(root)?.fence ?? 0 };
}
