/**
 * Forced releases with their options, from another process than the holder's.
 *
 * - `forced`: one that says that each holder has confirmed the end (`overlap` 0) is right: no
 *   holder that it ended believes. Leases that another forced release ended do not count.
 */
import type { ForcedRelease, Lease } from '../../../../../packages/holdfast/dist/index.js';
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
    const { forced } = this.world;
    const from = forced.length;
    let done: ForcedRelease;
    try {
      done = await this.client.holdfast.forceRelease(key, { ...whom, wait, reason: 'drawn' });
    } catch (error) {
      this.expect(error, CODES);
      return;
    }
    if (done.ended === 0 || done.overlap > 0) return;
    const meant = by === undefined ? '' : rootOf(id);
    const during = forced.slice(from).filter((one) => one.key === key && one.id === meant);
    const ended = new Set(during.flatMap((one) => one.ended));
    const believers = all.filter((one) => this.#believes(one, ended));
    // the result does not say which leases it counts: equal calls at this time ended the others
    if (believers.length <= ended.size - done.ended) return;
    const names = believers.map(({ name }) => name).join(', ');
    const text = `${names} believes, and ${this.task.name} says that it has confirmed its end`;
    this.world.report('forced', key, text);
  }

  /** Whether a task believes in one of these leases, which the store does not have any more. */
  #believes({ lease, client }: Attempt, ended: ReadonlySet<string>): boolean {
    if (lease === undefined || !client.process.alive || client.process.stopped) return false;
    const { server } = this.world;
    const root = rootOf(lease.id);
    const resource = server.engine.resource(this.task.key);
    const isGone = resource?.leaseOf(root, server.now()) === undefined;
    return ended.has(root) && isGone && lease.held === true;
  }
}
