/**
 * Forced releases with their options, from another process than the holder's.
 *
 * - `forced`: one with an id or a holder ends no lease of another root; one that says that each
 *   holder has confirmed the end (`overlap` 0) is right: no holder that it ended believes.
 */
import type { Lease } from '../../../../../packages/holdfast/dist/index.js';
import type { Attempt } from '../attempt.js';
import { rootOf } from '../../watch/identities.js';
import { Part, REFUSALS } from './part.js';

/** The errors of a forced release that has done nothing, or of which it is not known. */
const REFUSED = ['HOLDFAST_REFUSED', 'HOLDFAST_UNCERTAIN', 'HOLDFAST_UNREACHABLE'];
const CODES = [...REFUSED, 'HOLDFAST_CLOSED'];

/** The holders of this group, by world. */
const HELD = new WeakMap<object, Set<Attempt>>();

export class Force extends Part {
  async perform(): Promise<void> {
    await (this.task.how === 'force' ? this.#force() : this.#hold());
  }

  get #held(): Set<Attempt> {
    let held = HELD.get(this.world);
    if (held === undefined) HELD.set(this.world, (held = new Set()));
    return held;
  }

  async #hold(): Promise<void> {
    const { key, steps } = this.task;
    let lease: Lease;
    try {
      lease = await this.client.holdfast.mutex(key).acquire(this.options());
    } catch (error) {
      this.expect(error, REFUSALS);
      return;
    }
    this.holds(lease);
    this.#held.add(this.attempt);
    for (const step of steps) if ('ms' in step) await this.rest(step.ms);
    this.#held.delete(this.attempt);
    try {
      await lease.release();
    } catch (error) {
      this.expect(error, ['HOLDFAST_UNCERTAIN', 'HOLDFAST_LOST']);
    }
  }

  async #force(): Promise<void> {
    const { key, by, wait = 0 } = this.task;
    const all = [...this.#held];
    const [victim] = all.filter(({ lease }) => lease?.held === true);
    const id = victim?.lease?.id ?? 'nothing.1';
    const whom = by === 'id' ? { id } : by === 'holder' ? { holder: rootOf(id) } : {};
    const { engine } = this.world.server;
    const before = new Map(
      [...(engine.resource(key)?.holders ?? [])].map(([k, v]) => [k, v.fence]),
    );
    let overlap: number;
    try {
      const done = await this.client.holdfast.forceRelease(key, { ...whom, wait, reason: 'drawn' });
      overlap = done.overlap;
      if (done.ended === 0) return;
    } catch (error) {
      this.expect(error, CODES);
      return;
    }
    if (overlap > 0) return;
    for (const { lease, client, name } of all) {
      if (lease === undefined || !client.process.alive || client.process.stopped) continue;
      const root = rootOf(lease.id);
      const isMeant = before.has(root) && (by === undefined || root === rootOf(id));
      const isGone = engine.resource(key)?.leaseOf(root, this.world.server.now()) === undefined;
      if (!isMeant || !isGone || lease.held !== true) continue;
      const text = `${name} believes, and ${this.task.name} says that it has confirmed its end`;
      this.world.report('forced', key, text);
    }
  }
}
