/**
 * `disorder`: the store receives the acquisitions of a process for a key in the order of the calls.
 * It is asserted for acquisitions with a request of their own, and for fair ones, whose groups keep
 * the order of their oldest tasks; and only while nothing disturbs the process. Requests that wait
 * for their turn fail with those of a server that is silent, and are asked again one by one. What
 * asks again after a wait at a condition has no order of calls.
 */
import type { KeyCommand } from '../../../../packages/holdfast/dist/engine/commands.js';
import type { Attempt } from '../work/attempt.js';
import { isFamily } from '../work/family/perform.js';
import { meets } from '../work/meeting.js';
import type { World } from '../world/world.js';

export class Order {
  readonly #world: World;
  /** The latest call whose request has arrived, by process and key. */
  readonly #latest = new Map<string, Attempt>();
  readonly #seen = new Set<string>();
  readonly #asked = new Set<Attempt>();

  constructor(world: World) {
    this.#world = world;
  }

  after(command: KeyCommand): void {
    if (command.op !== 'acquire' || this.#seen.has(command.id)) return;
    this.#seen.add(command.id);
    const attempt = this.#world.watch.identities.attempt(command.id);
    if (attempt === undefined || isFamily(attempt.task) || this.#world.plan.network.loose) return;
    if (meets(attempt.task) && this.#asked.has(attempt)) return;
    this.#asked.add(attempt);
    const { key, fair, tasks = 0, waited = 0 } = command;
    // the place of a root that has waited in its process is that of its oldest task
    if (waited > 0 || !(fair || tasks === 0)) return;
    const own = `${attempt.client.name} ${key}`;
    const latest = this.#latest.get(own);
    if (latest === undefined || attempt.askedAt >= latest.askedAt) {
      this.#latest.set(own, attempt);
    } else if (attempt.client.clearSince < attempt.askedAt && !failed(attempt)) {
      const text = `${attempt.name} was called before ${latest.name}, and asked after it`;
      this.#world.report('disorder', key, text);
    }
  }
}

/** Its request may have failed before it was sent. */
function failed({ client, askedAt }: Attempt): boolean {
  return client.plan.options.maxRequests !== undefined && client.redis.slowAt >= askedAt;
}
