/**
 * Linked lists whose links are in the members.
 *
 * A `Map` or a `Set` makes a new table after some hundred changes. Dead tables keep short-lived
 * objects alive, and collecting these then costs more than a lock ([decision
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
  protected index: Index | undefined;

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
    if (this.index !== undefined) this.index.forget(one);
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
 * A search by id is rare. It indexes the present objects; those that come and go between two
 * searches are never indexed.
 */
export class Records<T extends Link & { readonly id: string }> extends Chain<T> {
  find(id: string): T | undefined {
    this.index ??= new Index();
    return this.index.find(id, this.first) as T | undefined;
  }
}

/** The objects of a chain by id, from the first to the last one that a search has seen. */
class Index {
  readonly #byId = new Map<string, Link>();
  #last: Link | undefined;

  find(id: string, first: Link | undefined): Link | undefined {
    for (;;) {
      const next: Link | undefined = this.#last === undefined ? first : this.#last.after;
      if (next === undefined) return this.#byId.get(id);
      this.#byId.set((next as Link & { readonly id: string }).id, next);
      this.#last = next;
    }
  }

  forget(one: Link & { readonly id?: string }): void {
    const { id = '' } = one;
    if (this.#byId.get(id) !== one) return;
    this.#byId.delete(id);
    if (one === this.#last) this.#last = one.before;
  }
}
