/** Rules of the proxy: which reply or push something happens to, and how often. */

/** What is done to a reply: lost (and then?), or late. */
export type Fate = { after: AfterDrop } | { delay: number };

/**
 * What follows a lost reply. `cut`: the connection ends. `silence`: it stays open and nothing comes
 * any more, as when the way back is broken. `continue`: later replies come, so a client that counts
 * will take them for the wrong ones.
 */
export type AfterDrop = 'cut' | 'silence' | 'continue';

/** Whether a rule is meant for a command or a push, given as words. */
export type Match = (words: string[]) => boolean;

/** A rule that was made. */
export interface Rule {
  /** How often it was applied. */
  readonly hits: number;
  /** Resolves when it has been applied so often. */
  applied(times?: number): Promise<void>;
  /** Ends it. */
  remove(): void;
}

interface Entry<T> {
  match: Match;
  times: number;
  what: T;
  hits: number;
  waiting: { times: number; resolve: () => void }[];
}

/** Rules of one kind; the first that matches is applied. */
export class Rules<T> {
  #entries: Entry<T>[] = [];

  add(match: Match, times: number, what: T): Rule {
    const entry: Entry<T> = { match, times, what, hits: 0, waiting: [] };
    this.#entries.push(entry);
    return {
      get hits() {
        return entry.hits;
      },
      applied: (count = 1) =>
        new Promise((resolve) => {
          if (entry.hits >= count) resolve();
          else entry.waiting.push({ times: count, resolve });
        }),
      remove: () => {
        this.#entries = this.#entries.filter((each) => each !== entry);
      },
    };
  }

  /** What the first matching rule says; it counts as applied. */
  apply(words: string[]): T | undefined {
    const entry = this.#entries.find(({ match, hits, times }) => hits < times && match(words));
    if (entry === undefined) return undefined;
    entry.hits += 1;
    for (const { times, resolve } of entry.waiting) if (entry.hits >= times) resolve();
    return entry.what;
  }

  clear(): void {
    this.#entries = [];
  }
}
