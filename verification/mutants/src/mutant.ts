/** A mistake that can be planted into the compiled library. */

/** One replacement of text; `find` is there exactly once, unless `every`. */
export interface Edit {
  /** Below `dist` of the package. */
  readonly file: string;
  /** The folder of the package in `packages`. Without this field, `holdfast`. */
  readonly of?: PackageName;
  readonly find: string;
  readonly replace: string;
  /** Replaces every occurrence: scripts share fragments. */
  readonly every?: true;
}

/** The packages of other stores. */
export type StorePackage = 'postgres' | 'sqlite' | 'etcd';

/** The packages that a mistake can be planted in. */
export type PackageName = StorePackage | 'cli' | 'dashboard' | 'otel';

/** A simulation: of one server, a quorum of servers, or a register. */
export type World = 'server' | 'quorum' | 'register';

export interface Mutant {
  readonly name: string;
  /** The wrong behaviour, and a library that has made this mistake. */
  readonly mistake: string;
  readonly edits: readonly Edit[];
  /** A seed that found it: it is tried first. */
  readonly seed?: number;
  /** Needs more seeds than the test suite runs. */
  readonly rare?: true;
  /** The simulation that finds it: without this field, that of one server. */
  readonly world?: World;
  /**
   * The simulator does not find it; this test does: the end of the path of a file, and after `: ` a
   * part of the title of a test or of a group.
   */
  readonly elsewhere?: string;
}

/** A mistake of one edit that a test finds, see `Mutant.elsewhere`. */
export function testedBy(
  elsewhere: string,
  name: string,
  mistake: string,
  [file, find, replace]: readonly [file: string, find: string, replace: string],
  of?: PackageName,
): Mutant {
  const edit = { file, find, replace };
  return { name, mistake, elsewhere, edits: [of === undefined ? edit : { ...edit, of }] };
}
