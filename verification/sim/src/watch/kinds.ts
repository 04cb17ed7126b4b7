/**
 * `kind`: while a lease of a key lasts, no command changes the kind of the key. A mutex keeps its
 * capacity of 1.
 */
import type { KeyCommand } from '../../../../packages/holdfast/dist/engine/commands.js';
import type { Resource } from '../../../../packages/holdfast/dist/engine/resource.js';
import type { World } from '../world/world.js';

export class KindRules {
  readonly #world: World;
  #kind = '';
  #holders: readonly string[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  before({ key }: KeyCommand): void {
    const resource = this.#resource(key);
    this.#kind = resource?.kind ?? '';
    this.#holders = this.#live(resource);
  }

  after({ key, op }: KeyCommand): void {
    const resource = this.#resource(key);
    if (resource === undefined || this.#holders.length === 0) return;
    if (!this.#live(resource).some((id) => this.#holders.includes(id))) return;
    const { kind, capacity } = resource;
    const isWrong = kind !== this.#kind || (kind === 'mutex' && capacity !== 1);
    if (isWrong) {
      const text = `${op} makes the ${this.#kind} that is held a ${kind} of ${capacity}`;
      this.#world.report('kind', key, text);
    }
  }

  #resource(key: string): Resource | undefined {
    return this.#world.server.engine.resource(key);
  }

  #live(resource: Resource | undefined): string[] {
    const now = this.#world.server.now();
    const all = [...(resource?.holders.values() ?? [])];
    return all.filter(({ expires }) => expires > now).map(({ id }) => id);
  }
}
