/** The options of this package and their checks. */
import { badOption, flagOption, knownOptions, wholeOption } from 'holdfast/register';
import { TABLE } from './sql.js';

/** Options of `postgres`. */
export interface PostgresOptions {
  /**
   * The name of the table, with its schema if that is not the first one of `search_path`:
   * `app.locks`. Default `holdfast_locks`.
   */
  readonly table?: string | undefined;
  /**
   * The connection for messages: a URL that leads to the server itself, if the client connects to a
   * pooler; or `false`: then waiters poll. By default it is opened with the settings of the client.
   * A URL needs `pg` or `postgres`.
   */
  readonly listen?: string | boolean | undefined;
  /** The longest time of a statement in ms. 100 to 60,000; default 3,000. */
  readonly timeout?: number | undefined;
  /**
   * False: no prepared statements. Default true: behind a pooler that has none, the first refusal
   * of the server switches them off.
   */
  readonly prepare?: boolean | undefined;
  /**
   * The most characters of the state of one key, which has all of its holders and waiters. A
   * command that would make it longer is refused. 1,024 to 1,048,576; default 131,072, which is
   * about 1,500 waiters in different processes.
   */
  readonly stateMax?: number | undefined;
}

/** The options with their defaults. */
export interface Settings {
  readonly table: string;
  readonly listen: string | boolean;
  readonly timeout: number;
  readonly prepare: boolean;
  readonly stateMax: number;
}

const OPTIONS: ReadonlySet<string> = new Set(['table', 'listen', 'timeout', 'prepare', 'stateMax']);

export function settingsOf(options: PostgresOptions): Settings {
  knownOptions('options', options, OPTIONS);
  const { table, listen = true, prepare, timeout, stateMax } = options;
  const isUrl = typeof listen === 'string' && /^postgres(ql)?:\/\//.test(listen);
  if (!isUrl && typeof listen !== 'boolean') {
    throw badOption('listen', 'a URL, true or false', listen);
  }
  return {
    table: tableOf(table),
    listen,
    prepare: flagOption('prepare', prepare, true),
    timeout: wholeOption('timeout', timeout, 3000, 100, 60_000),
    stateMax: wholeOption('stateMax', stateMax, 131_072, 1024, 1_048_576),
  };
}

/** The name of the table, checked. */
export function tableOf(given: unknown = TABLE): string {
  // `$$` would end the text of `creation`
  const isName =
    typeof given === 'string' && /^(?!.*\$\$)[a-z_][\w$]{0,62}(\.[a-z_][\w$]{0,62})?$/i.test(given);
  if (isName) return given;
  throw badOption('table', 'a name of letters, digits and "_", or two with a dot', given);
}
