/**
 * The slots of a schedule.
 *
 *     free --a run begins--> marked --the work ends--> marked, and marked as `done` or `failed`
 */
import type { Core } from '../acquire/core.js';
import { badOption } from '../base/errors.js';
import { type HolderInfo, inspect } from './inspection.js';
import { markerKey } from '../base/marker-key.js';
import { Pause } from '../base/pause.js';
import { quietly } from './acquirer.js';
import type { KeptLease } from './kept-lease.js';
import { mark } from './markers.js';

/**
 * What became of the slot of a skipped call:
 *
 * - `running`: its run is active.
 * - `done`, `failed`: its work resolved or threw.
 * - `unfinished`: its run ended without a result: its process died, or its lock was lost.
 * - `missed`: it has had no run, and will have none if no call for it waits or comes later.
 */
export type SlotState = 'running' | 'done' | 'failed' | 'unfinished' | 'missed';

/** The limit of key and slot together; the marker's key adds seven. */
const SLOT_BYTES_MAX = 1018;
/** A younger run may be about to mark its slot. */
const YOUNG_MS = 500;
/** A possible error of the ages of two leases: a quorum estimates the time. */
const BLUR_MS = 100;
const LOOK_MS = 20;
const LOOKS_MAX = 10;
/** A shorter ttl is a warning. */
const RESULT_MS_MIN = 100;

export class Slot {
  readonly #core: Core;
  readonly #key: string;
  readonly #marker: string;
  #run = '';
  #until = 0;

  constructor(core: Core, key: string, slot: unknown) {
    if (typeof slot !== 'string' || slot === '') {
      throw badOption('slot', 'a non-empty string', slot);
    }
    const fits = Buffer.byteLength(key) + Buffer.byteLength(slot) <= SLOT_BYTES_MAX;
    if (!fits || /\p{Surrogate}/u.test(slot)) {
      const expected = `well-formed text of at most ${SLOT_BYTES_MAX} bytes together with the key`;
      throw badOption('slot', expected, slot);
    }
    this.#core = core;
    this.#key = key;
    this.#marker = markerKey(key, slot);
  }

  async taken(): Promise<HolderInfo | null> {
    return holderOf(this.#core, this.#marker);
  }

  async mark(ttl: number, label: string | undefined): Promise<KeptLease | null> {
    const marker = await mark(this.#core, this.#marker, ttl, label);
    this.#run = `${marker?.fence}`;
    this.#until = this.#core.clock.now() + ttl;
    return marker;
  }

  /** Never rejects. The result names its run, and ends with the marker. */
  async ended(how: 'done' | 'failed'): Promise<void> {
    const left = this.#until - this.#core.clock.now();
    if (left <= 0) return;
    const result = mark(this.#core, this.#marker + how, Math.max(RESULT_MS_MIN, left), this.#run);
    (await quietly(result))?.leave();
  }

  async state(): Promise<SlotState> {
    const look = (key: string): Promise<HolderInfo | null> => holderOf(this.#core, key);
    const marker = this.#marker;
    const [done, failed, own] = await Promise.all(
      [`${marker}done`, `${marker}failed`, marker].map(look),
    );
    const isOf = (result: HolderInfo | null | undefined): boolean =>
      !!result && (!own || result.label === `${own.fence}`);
    if (isOf(done)) return 'done';
    if (isOf(failed)) return 'failed';
    // a lease older than the marker belongs to the run that set it
    const lock = await look(this.#key);
    return lock && own && lock.heldFor >= own.heldFor - BLUR_MS ? 'running' : 'unfinished';
  }

  /** Waits for the mark of a young run. */
  async soonTaken(): Promise<HolderInfo | null> {
    const pause = new Pause(this.#core.clock);
    for (let looks = 0; looks < LOOKS_MAX; looks++) {
      const [taken, lock] = await Promise.all([this.taken(), holderOf(this.#core, this.#key)]);
      if (taken !== null || lock === null || lock.heldFor > YOUNG_MS) return taken;
      await pause.for(LOOK_MS);
    }
    return null;
  }
}

export async function holderOf(core: Core, key: string): Promise<HolderInfo | null> {
  return (await inspect(core, key, 1))?.holders[0] ?? null;
}
