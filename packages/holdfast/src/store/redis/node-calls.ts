/**
 * Calls for several mutexes at one node of a cluster ([decision
 * 25](../../../../../docs/decisions/0025-several-mutexes-in-a-call.md)). A call names its node and
 * no key, so no node redirects it; the names are arguments, and the node refuses each command with
 * a key that it does not serve.
 *
 * A service that does not check keys would take a lock a second time at a slot's former owner. So
 * the first calls to each node name a control: another node's key, which the node must refuse.
 *
 *     new --calls with a control--> refused: checked, no control from now on
 *      ^             \--not refused: nothing was done--> three times, each with another control,
 *      \---------------------------------------------/   and no node was checked: single calls only
 */
import type { ClusterView } from '../clients/port.js';
import { mainKeyOf } from './keys.js';
import { slotOf } from './hash-slot.js';

/** Replies of scripts that did nothing, see `lib/names.lua`. */
const NOT_REFUSED = 0;
const DOWN = -1;
/** Any reply of a script that did something. */
const LIST = 1;
/** The client's view may be old, so one control proves nothing. */
const UNCHECKED_MAX = 3;
/** A node with nearly all slots needs many attempts. */
const NAMES_MAX = 20_000;
/** The most checked addresses; nodes come and go. */
const CHECKED_MAX = 1000;

/** The control, or `''`; then the main record's name of each resource. */
export type NodeNames = readonly string[];

/** The node did not refuse the control, or cannot. It has done nothing. */
class Unchecked extends Error {}

export const isUnchecked = (error: unknown): boolean => error instanceof Unchecked;

export class NodeCalls {
  readonly #view: ClusterView;
  /** The client adds it to keys, but not to arguments. */
  readonly #keyPrefix: string;
  readonly #prefix: string;
  readonly #checked = new Set<string>();
  /** The controls of the checks under way, by the node's address. */
  readonly #controls = new Map<string, string>();
  /** Controls that were not refused since a node was checked. */
  #unchecked = 0;

  constructor(view: ClusterView, keyPrefix: string, prefix: string) {
    this.#view = view;
    this.#keyPrefix = keyPrefix;
    this.#prefix = prefix;
  }

  /** `''`: the key has its own call. */
  of(name: string): string {
    if (this.#view.takesAddress !== true || this.#unchecked >= UNCHECKED_MAX) return '';
    return this.#view.masterOf(slotOf(this.#keyPrefix + name)) ?? '';
  }

  names(at: string, keys: readonly string[]): NodeNames {
    const control = this.#checked.has(at) ? '' : this.#controlOf(at);
    const names = this.#keyPrefix === '' ? keys : keys.map((key) => this.#keyPrefix + key);
    return [control, ...names];
  }

  /** Throws if the node did nothing, because it did not refuse the control, or is down. */
  answered(at: string, raw: unknown): void {
    // `Number` of a list would be slow
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

  /** A record's name at another node; at a node with all slots its own, which is not refused. */
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
