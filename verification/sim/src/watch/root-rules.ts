/**
 * Guarantees of the store for roots, asserted after each command:
 *
 * - `turn`: a `turn` that does not end the lease that it names queues nothing. A late copy of it
 *   would otherwise queue a root that has ended;
 * - `overtaken`: a root that is granted while a fair acquisition waits has no hand-offs, unless it
 *   is fair too: its tasks are neighbours in the queue.
 */
import type { KeyCommand, Turn } from '../../../../packages/holdfast/dist/engine/commands.js';
import type { Resource } from '../../../../packages/holdfast/dist/engine/resource.js';
import type { World } from '../world/world.js';

/** True if the command asks for a place in strict order. */
function asksFairly(command: KeyCommand, id: string): boolean {
  if (command.op === 'turn') return command.fair === true && command.again === id;
  return command.op === 'acquire' && command.fair && command.id === id;
}

export class RootRules {
  readonly #world: World;
  /** True if the `turn` under check may queue its next root. */
  #mayQueue = true;
  /** The holders, and the fair waiters, before the command under check. */
  #holders: ReadonlySet<string> = new Set();
  #fair: readonly string[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  before(command: KeyCommand): void {
    const resource = this.#resource(command.key);
    const waiters = resource?.fairWaiting ? [...resource.waiters.values()] : [];
    this.#fair = waiters.filter(({ fair }) => fair).map(({ id }) => id);
    this.#holders = new Set(this.#fair.length === 0 ? [] : resource?.holders.keys());
    if (command.op !== 'turn') return;
    const lease = resource?.leaseOf(command.id, this.#world.server.now());
    this.#mayQueue = lease?.fence === command.fence || this.#has(resource, command);
  }

  after(command: KeyCommand): void {
    const resource = this.#resource(command.key);
    if (resource === undefined || command.op === 'inspect') return;
    if (command.op === 'turn' && !this.#mayQueue && this.#has(resource, command)) {
      const text = `a turn that ends no lease of ${command.id} queues ${command.again}`;
      this.#world.report('turn', command.key, text);
    }
    if (!this.#fair.some((id) => resource.waiters.has(id))) return;
    for (const { id, handOffs } of resource.holders.values()) {
      const isFair = this.#fair.includes(id) || asksFairly(command, id);
      if (handOffs === 0 || isFair || this.#holders.has(id)) continue;
      const text = `${id} has ${handOffs} hand-offs, and a fair acquisition waits`;
      this.#world.report('overtaken', command.key, text);
    }
  }

  #resource(key: string): Resource | undefined {
    return this.#world.server.engine.resource(key);
  }

  #has(resource: Resource | undefined, { again }: Turn): boolean {
    if (resource === undefined || again === '') return false;
    return resource.waiters.has(again) || resource.holders.has(again);
  }
}
