/**
 * `sharer`: a hold of a process that has died ends after its own length, also while other holds of
 * the owner renew the lease that they share.
 */
import type { KeyCommand } from '../../../../packages/holdfast/dist/engine/commands.js';
import type { World } from '../world/world.js';

/** Clocks differ by 1 %, and the answer to a renewal of the others may come late. */
const SLACK = 1.02;
const LATE_MS = 5000;

export class HoldRules {
  readonly #world: World;
  /** When each client died. */
  readonly #died = new Map<string, number>();
  /** When the server executed the last request of each hold: also one of a dead process. */
  readonly #executed = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  died(client: string): void {
    this.#died.set(client, this.#world.scheduler.now);
  }

  after(command: KeyCommand): void {
    const { server, scheduler, watch, plan } = this.#world;
    const { key } = command;
    if (command.op === 'acquire' || command.op === 'renew')
      this.#executed.set(command.id, scheduler.now);
    if (this.#died.size === 0 || plan.network.loose) return;
    for (const holder of server.engine.resource(key)?.holders.values() ?? []) {
      for (const [id, { expires }] of holder.holds) {
        const attempt = watch.identities.attempt(id);
        if (attempt === undefined || expires <= server.now()) continue;
        const died = this.#died.get(attempt.client.name);
        if (died === undefined || watch.excuses(key, holder.fence)) continue;
        // the queue may reach a waiter after its death: a fence is the time of the grant, or later
        const granted = scheduler.now - (server.now() - holder.fence) / 1000;
        const from = Math.max(died, this.#executed.get(id) ?? died, granted);
        if (scheduler.now - from <= attempt.task.ttl * SLACK + LATE_MS) continue;
        const ms = Math.round(scheduler.now - died);
        this.#world.report('sharer', key, `${attempt.name} died ${ms} ms ago, and holds`);
      }
    }
  }
}
