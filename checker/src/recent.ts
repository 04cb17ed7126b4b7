/**
 * A map of what came last: at least `size` of them, and twice as many at most.
 *
 * Two generations, of which the elder is dropped as a whole. (Deleting the eldest entry of one map
 * again and again would have each look for the eldest pass all that were deleted.)
 */
export class Recent<Value> {
  readonly #size: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();

  constructor(size: number) {
    this.#size = size;
  }

  get(name: string): Value | undefined {
    return this.#young.get(name) ?? this.#old.get(name);
  }

  set(name: string, value: Value): void {
    this.#young.set(name, value);
    if (this.#young.size < this.#size) return;
    this.#old = this.#young;
    this.#young = new Map();
  }
}
