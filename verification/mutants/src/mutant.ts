/** A mistake that can be planted into the compiled library. */

/** One replacement of text; `find` is there exactly once, unless `every`. */
export interface Edit {
  /** Below `packages/holdfast/dist`. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** In each place: scripts have what they share in common. */
  readonly every?: true;
}

export interface Mutant {
  readonly name: string;
  /** What goes wrong, and who has made this mistake. */
  readonly mistake: string;
  readonly edits: readonly Edit[];
  /** Needs more seeds than the share that runs with the tests has. */
  readonly rare?: true;
}
