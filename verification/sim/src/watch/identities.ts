/** Which attempt an acquisition of the store belongs to: commands carry its label. */
import type { Command } from '../../../../packages/holdfast/dist/engine/commands.js';
import { nameOf } from '../plan/turns.js';
import type { Attempt } from '../work/attempt.js';
import type { World } from '../world/world.js';

/** The end of the label of a run that is nested in a run of the same lock. */
export const INNER = '/inner';

/** The acquisition that a command requests. */
export function requested(command: Command): string | undefined {
  if (command.op === 'acquire') return command.id;
  if (command.op === 'park') return command.as;
  return command.op === 'turn' ? command.again : undefined;
}

/** The id that the store knows: that of the root, if the lease was handed off. */
export function rootOf(id: string): string {
  return id.split('/', 1)[0] as string;
}

export class Identities {
  readonly #world: World;
  /** The id of an acquisition → its attempt. */
  readonly #attempts = new Map<string, string>();

  constructor(world: World) {
    this.#world = world;
  }

  see(command: Command): void {
    const id = requested(command);
    // a request that only gives a wait up says nothing about itself
    if (id === undefined || this.#attempts.has(id) || !('meta' in command) || command.meta === '')
      return;
    const { label } = JSON.parse(command.meta) as { label?: string };
    this.#attempts.set(id, nameOf(label ?? '', command.key));
  }

  /** The attempt of an acquisition; of a root: its oldest task when it was first requested. */
  attempt(id: string): Attempt | undefined {
    return this.#world.attempts.get(this.#attempts.get(id) ?? '');
  }

  /**
   * The attempt of an acquisition. A root stands for all tasks of its process on the key: the one
   * that ends last is returned, or one that has not ended.
   */
  waiting(id: string): Attempt | undefined {
    const first = this.attempt(id);
    if (first === undefined || !first.over) return first;
    let last = first;
    for (const one of this.#world.attempts.values()) {
      const { key, primitive } = one.task;
      if (primitive === 'look') continue;
      // an acquisition of several keys has the name of one of them
      const alike =
        key === first.task.key || (primitive === 'all' && first.task.primitive === 'all');
      const shares = one.client === first.client && alike;
      if (shares && !one.abandoned && one.overAt > last.overAt) last = one;
    }
    return last;
  }

  /** True if a task has lost the lease of this acquisition, which may have been handed to it. */
  isLost(id: string): boolean {
    for (const { lost, lease } of this.#world.attempts.values()) {
      if (lost && lease !== undefined && rootOf(lease.id) === id) return true;
    }
    return false;
  }

  /** The attempt of the outer reentrant run. */
  outerOf(id: string): Attempt | undefined {
    const label = this.#attempts.get(id) ?? '';
    if (!label.endsWith(INNER)) return undefined;
    return this.#world.attempts.get(label.slice(0, -INNER.length));
  }
}
