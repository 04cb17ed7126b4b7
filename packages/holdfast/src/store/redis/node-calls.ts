/**
 * Calls for several mutexes at one node of a cluster.
 *
 * Keys of one call must be in one slot. So a call of `several.ts` names its node and no key, and
 * the names are arguments. The node refuses each command of the script with a key that it does not
 * serve: its slot has moved, or is moving and the key is gone. No node redirects a call without
 * keys. That matters: sent with `ASKING` to the next owner of a slot, it could use all slots that
 * move there, also keys that are still at their present owner.
 *
 * Some services speak the protocol of a cluster, and may not check the keys that a script uses.
 * There a call to a former owner of a slot would take a lock a second time. So the first calls to
 * each node name a control: a key of another node, which the node must refuse.
 *
 *     new --calls with a control--> refused: checked, no control from now on
 *      ^             \--not refused: nothing was done--> three times, each with another control,
 *      \---------------------------------------------/   and no node was checked: single calls only
 */
import type { ClusterView } from '../clients/port.js';
import { mainKeyOf } from './keys.js';
import { slotOf } from './hash-slot.js';

/** Replies of scripts that have done nothing: see `lib/names.lua`. */
const NOT_REFUSED = 0;
const DOWN = -1;
/** Any reply of a script that has done something. */
const LIST = 1;
/** The view of the client may be old, so one control proves nothing. */
const UNCHECKED_MAX = 3;
/** A node with nearly all slots needs many attempts. */
const NAMES_MAX = 20_000;
/** Addresses that were checked. Nodes come and go. */
const CHECKED_MAX = 1000;

/** The control, or `''`; then the name of the main record of each resource. */
export type NodeNames = readonly string[];

/** The node did not refuse the key of another node, or cannot say it. It has done nothing. */
class Unchecked extends Error {}

export const isUnchecked = (error: unknown): boolean => error instanceof Unchecked;

export class NodeCalls {
  readonly #view: ClusterView;
  /** Which the client adds to keys, but not to arguments. */
  readonly #keyPrefix: string;
  readonly #prefix: string;
  readonly #checked = new Set<string>();
  /** The controls of the checks under way, by the address of the node. */
  readonly #controls = new Map<string, string>();
  /** Controls that were not refused since a node was checked. */
  #unchecked = 0;

  constructor(view: ClusterView, keyPrefix: string, prefix: string) {
    this.#view = view;
    this.#keyPrefix = keyPrefix;
    this.#prefix = prefix;
  }

  /** `''`: the key has a call of its own. */
  of(name: string): string {
    if (this.#view.takesAddress !== true || this.#unchecked >= UNCHECKED_MAX) return '';
    return this.#view.masterOf(slotOf(this.#keyPrefix + name)) ?? '';
  }

  names(at: string, keys: readonly string[]): NodeNames {
    const control = this.#checked.has(at) ? '' : this.#controlOf(at);
    const names = this.#keyPrefix === '' ? keys : keys.map((key) => this.#keyPrefix + key);
    return [control, ...names];
  }

  /** Throws if the node has done nothing, because it did not refuse the control, or is down. */
  answered(at: string, raw: unknown): void {
    // the number of a list would be slow
    const code = Array.isArray(raw) ? LIST : Number(raw);
    if (code === DOWN) throw new Unchecked();
    if (code !== LIST && code !== NOT_REFUSED) return;
    // several calls may have the same control
    const isFirst = this.#controls.delete(at);
    if (code === NOT_REFUSED) {
      if (isFirst) this.#unchecked += 1;
      throw new Unchecked();
    }
    if (!isFirst) return;
    this.#unchecked = 0;
    if (this.#checked.size === CHECKED_MAX) this.#checked.clear();
    this.#checked.add(at);
  }

  #controlOf(at: string): string {
    const control = this.#controls.get(at) ?? this.#newControl(at);
    this.#controls.set(at, control);
    return control;
  }

  /**
   * The name of a record at another node; at a node with all slots one of its own, which it does
   * not refuse.
   */
  #newControl(at: string): string {
    let skipped = 0;
    for (let number = 0; number < NAMES_MAX; number++) {
      const name = this.#keyPrefix + mainKeyOf(this.#prefix, `${number}`);
      const owner = this.#view.masterOf(slotOf(name));
      if (owner === undefined || owner === at) continue;
      if (skipped === this.#unchecked) return name;
      skipped += 1;
    }
    return this.#keyPrefix + mainKeyOf(this.#prefix, '0');
  }
}
