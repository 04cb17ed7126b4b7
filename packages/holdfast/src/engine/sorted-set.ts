/** Ids in order of a score, ties by id, like a sorted set in Redis. */
export class SortedSet {
  readonly #scores = new Map<string, number>();
  readonly #order: string[] = [];

  get size(): number {
    return this.#order.length;
  }

  at(rank: number): string | undefined {
    return this.#order[rank];
  }

  score(id: string): number | undefined {
    return this.#scores.get(id);
  }

  first(limit: number): readonly string[] {
    return this.#order.slice(0, limit);
  }

  from(rank: number, limit: number): readonly string[] {
    return this.#order.slice(rank, rank + limit);
  }

  upTo(score: number): number {
    return this.#rank(score, '\u{10ffff}');
  }

  rank(id: string): number {
    return this.#rank(this.#scores.get(id) as number, id);
  }

  set(id: string, score: number): void {
    this.delete(id);
    const last = this.#order.at(-1);
    // most come at the end
    if (last === undefined || (this.#scores.get(last) as number) < score) this.#order.push(id);
    else this.#order.splice(this.#rank(score, id), 0, id);
    this.#scores.set(id, score);
  }

  delete(id: string): boolean {
    const score = this.#scores.get(id);
    if (score === undefined) return false;
    this.#order.splice(this.#rank(score, id), 1);
    this.#scores.delete(id);
    return true;
  }

  #rank(score: number, id: string): number {
    let low = 0;
    let high = this.#order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#order[middle] as string;
      const otherScore = this.#scores.get(other) as number;
      if (otherScore < score || (otherScore === score && other < id)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
