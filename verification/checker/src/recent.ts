/**
 * A map that keeps the last entries: at least `size`, at most twice as many.
 *
 * It consists of two maps, and the older one is dropped as a whole. (In a single map, each search
 * for the oldest entry would pass all deleted entries.)
 */
export class Recent<Value> {
  readonly #size: number;
  #newer = new Map<string, Value>();
  #older = new Map<string, Value>();

  constructor(size: number) {
    this.#size = size;
  }

  get(name: string): Value | undefined {
    return this.#newer.get(name) ?? this.#older.get(name);
  }

  set(name: string, value: Value): void {
    this.#newer.set(name, value);
    if (this.#newer.size < this.#size) return;
    this.#older = this.#newer;
    this.#newer = new Map();
  }
}
