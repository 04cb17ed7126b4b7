/**
 * Ends leases without the consent of their holders.
 *
 *     marked --command--> ended in the store --its process hears--> confirmed: no marker
 *                                \--its time passes--> over: the marker ends by itself
 *
 * Each victim first gets a marker, with the reason and the process that ends its lease. The marker
 * lasts longer than the lease. When the store does not know a lease any more, its process reads the
 * marker, stops to believe in the lease, and removes the marker. So once no marker is left, no
 * process believes in an ended lease.
 *
 * A mutex's lease may go from task to task without a command. So the store knows its process, by
 * the first task's id, and not which task holds.
 */
import type { Core } from '../acquire/core.js';
import type { HolderView } from '../engine/commands.js';
import { FORCE_LIMIT } from '../engine/limits.js';
import { HoldfastError } from '../base/errors.js';
import { ask } from './inspection.js';
import { markerKey } from '../base/marker-key.js';
import { quietly } from './acquirer.js';
import { mark, unmarked } from './markers.js';
import type { ForcedMessage } from '../observe/messages.js';
import { FORCED, isOn, traced } from '../observe/telemetry.js';
import { quote } from '../base/text.js';

const LOOKED_AT_MAX = 100;
const DAY = 86_400_000;
/** A marker lasts this much longer than the lease. */
const MARGIN_MS = 1000;

export interface Force {
  /** One lease, not that of a later task of its process; or `''`. */
  readonly id: string;
  /** One holder, whichever of its tasks holds; or `''`. */
  readonly holder: string;
  readonly reason: string;
  readonly wait: number;
}

/** The effect of a forced release. */
export interface ForcedRelease {
  readonly ended: number;
  /**
   * Ms for which a process may still believe in an ended lease, beside the next holder. 0 if each
   * has confirmed the end, or its lease has no time left.
   */
  readonly overlap: number;
}

export function forceRelease(core: Core, key: string, force: Force): Promise<ForcedRelease> {
  const end = (): Promise<ForcedRelease> => new ForceRelease(core, key, force).run();
  if (!isOn(FORCED)) return end();
  const { instance } = core.telemetry;
  const { id, holder, reason } = force;
  const message: ForcedMessage = { instance, key, id: id || holder, reason };
  return traced(FORCED, message, end, (to, { ended }) => {
    to.ended = ended;
  });
}

class ForceRelease {
  readonly #core: Core;
  readonly #key: string;
  readonly #force: Force;
  readonly #root: string;
  readonly #markers = new Map<string, readonly string[]>();

  constructor(core: Core, key: string, force: Force) {
    this.#core = core;
    this.#key = key;
    this.#force = force;
    this.#root = (force.id || force.holder).split('/', 1)[0] as string;
  }

  async run(): Promise<ForcedRelease> {
    const core = this.#core;
    const key = this.#key;
    const { retention } = core.settings;
    const { id } = this.#force;
    if (id !== '') await this.#certain(id);
    await quietly(this.#tell());
    const ended: string[] = [];
    let until = 0;
    for (;;) {
      const command = { op: 'forceRelease', key, id: this.#root, retention } as const;
      const reply = await ask(core, command, 'HOLDFAST_UNCERTAIN');
      ended.push(...reply.ended);
      // the store's time left is above the holder's
      until = Math.max(until, core.clock.now() + reply.left / 1000);
      if (reply.ended.length < FORCE_LIMIT) break;
    }
    if (ended.length > 0) core.acquisitions.revoked(key, ended);
    const heard = ended.length === 0 || (await this.#confirmed(ended));
    const overlap = heard ? 0 : Math.max(0, Math.ceil(until - core.clock.now()));
    return { ended: ended.length, overlap };
  }

  /** Rejects with `HOLDFAST_REFUSED` if the lease may be another task's. */
  async #certain(id: string): Promise<void> {
    const own = this.#core.watchdog.find(this.#root);
    if (own !== undefined) {
      if (own.hold.name !== id)
        throw this.#refused(`it has ended, and ${own.hold.name} holds the lock`);
      // and it is not handed on until it has ended
      own.reserved = 0;
      return;
    }
    const command = { op: 'inspect', key: this.#key, limit: 1 } as const;
    const [holder] = (await ask(this.#core, command)).holders;
    if (holder?.id === this.#root && holder.handOffs > 0) {
      throw this.#refused('another task of its process may have the lock now');
    }
  }

  #refused(why: string): HoldfastError {
    const key = this.#key;
    const instead = `To end what its process holds, give { holder: ${quote(this.#root)} }`;
    const what = `the lease ${quote(this.#force.id)} of ${quote(key)} was not ended by force`;
    return new HoldfastError('HOLDFAST_REFUSED', `Holdfast: ${what}: ${why}. ${instead}`, { key });
  }

  async #tell(): Promise<void> {
    const core = this.#core;
    const limit = this.#root === '' ? FORCE_LIMIT : LOOKED_AT_MAX;
    const command = { op: 'inspect', key: this.#key, limit } as const;
    const { holders } = await core.requests.send(command);
    const { label } = core.settings;
    const text = [this.#force.reason, label && `by ${label}`].filter(Boolean).join(', ');
    const marks = holders
      .filter((one) => this.#isMeant(one))
      .map(async ({ id, ids, left }) => {
        const ttl = Math.min(DAY, Math.ceil(Math.max(0, left / 1000)) + MARGIN_MS);
        const all = ids.length === 0 ? [id] : ids;
        const keys = all.map((one) => markerKey(this.#key, 'forced', one));
        const set = keys.map(async (one) =>
          (await mark(core, one, ttl, text.slice(0, 200)))?.leave(),
        );
        await Promise.all(set);
        this.#markers.set(id, keys);
      });
    await Promise.allSettled(marks);
  }

  #isMeant({ id, ids }: HolderView): boolean {
    return this.#root === '' || id === this.#root || ids.includes(this.#root);
  }

  /** False if the confirmation does not come in time. */
  async #confirmed(ended: readonly string[]): Promise<boolean> {
    const keys = ended.map((id) => this.#markers.get(id));
    if (this.#force.wait === 0 || keys.includes(undefined)) return false;
    const until = this.#core.clock.now() + this.#force.wait;
    for (const key of keys.flat() as string[]) {
      const left = Math.max(0, until - this.#core.clock.now());
      if ((await quietly(unmarked(this.#core, key, left))) !== true) return false;
    }
    return true;
  }
}
