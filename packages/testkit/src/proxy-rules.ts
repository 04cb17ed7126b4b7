/** Rules of the proxy: which reply or push is affected, how, and how often. */

/** The effect on a reply: lost, with the behaviour after it, or delayed by ms. */
export type Fate = { after: AfterDrop } | { delay: number };

/**
 * The behaviour after a lost reply. `cut`: the connection is closed. `silence`: it stays open and
 * all later replies are dropped too, as if the return path were broken. `continue`: later replies
 * arrive, so a client that matches replies by order matches them to the wrong commands.
 */
export type AfterDrop = 'cut' | 'silence' | 'continue';

/** Whether a rule applies to a command or a push, given as words. */
export type Match = (words: string[]) => boolean;

/** An active rule. */
export interface Rule {
  /** How often the rule was applied. */
  readonly hits: number;
  /** Resolves when the rule has been applied `times` times. */
  applied(times?: number): Promise<void>;
  /** Removes the rule. */
  remove(): void;
}

interface Entry<T> {
  match: Match;
  times: number;
  what: T;
  hits: number;
  waiting: { times: number; resolve: () => void }[];
}

/** Rules of one kind; the first matching rule is applied. */
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

  /** Applies the first matching rule and returns its effect. */
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
