/**
 * Objects that come and go, in order; the links are in them.
 *
 * A `Map` or a `Set` makes a new table after some hundred changes. A dead table in the heap's old
 * generation keeps its entries and the next table alive, so short-lived objects move there, where
 * collecting them costs more than a lock ([decision
 * 15](../../../../docs/decisions/0015-uncontended-pair.md)).
 */

/** A member is in one chain at a time. */
export class Link {
  chain: object | undefined;
  before: Link | undefined;
  after: Link | undefined;
}

export class Chain<T extends Link> {
  /** Only `add` and `remove` write these. */
  size = 0;
  first: T | undefined;
  #last: Link | undefined;

  add(one: T): void {
    one.chain = this;
    one.before = this.#last;
    if (this.#last === undefined) this.first = one;
    else this.#last.after = one;
    this.#last = one;
    this.size += 1;
  }

  /** False if it is not in this chain. */
  remove(one: T): boolean {
    if (one.chain !== this) return false;
    const { before, after } = one;
    if (before === undefined) this.first = after as T | undefined;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    // a dead object must not keep later ones alive
    one.chain = undefined;
    one.before = undefined;
    one.after = undefined;
    this.size -= 1;
    return true;
  }

  /** A copy: objects may come and go meanwhile. */
  all(): T[] {
    const all: T[] = [];
    for (let one: Link | undefined = this.first; one !== undefined; one = one.after) {
      all.push(one as T);
    }
    return all;
  }
}

/**
 * Objects that are seldom looked for by id. A search indexes the present ones; those that come and
 * go between two searches are never indexed.
 */
export class Records<T extends Link & { readonly id: string }> extends Chain<T> {
  readonly #index = new Map<string, T>();
  #indexed: Link | undefined;

  override remove(one: T): boolean {
    if (this.#index.size > 0 && this.#index.get(one.id) === one) {
      this.#index.delete(one.id);
      if (one === this.#indexed) this.#indexed = one.before;
    }
    return super.remove(one);
  }

  find(id: string): T | undefined {
    for (;;) {
      const next: Link | undefined = this.#indexed === undefined ? this.first : this.#indexed.after;
      if (next === undefined) return this.#index.get(id);
      this.#index.set((next as T).id, next as T);
      this.#indexed = next;
    }
  }
}
