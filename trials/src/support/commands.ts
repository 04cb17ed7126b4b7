/** What goes over the wire to a server, as a proxy sees it: which command of Holdfast it is. */

export type Spoken = 'acquire' | 'release' | 'renew' | 'other';

/** A call of a script: its keys and what follows them. */
export interface Call {
  readonly op: Spoken;
  /** The name of the main record. */
  readonly record: string;
  readonly args: readonly string[];
}

const KEYS = 3;
const ACQUIRE_ARGS = 14;

/** The words of EVALSHA or EVAL as a call; undefined for any other command. */
export function callOf(words: readonly string[]): Call | undefined {
  const [command = '', , count, record = ''] = words;
  if (!/^eval(sha)?$/i.test(command) || count !== `${KEYS}`) return undefined;
  const args = words.slice(3 + KEYS);
  return { op: opOf(args), record, args };
}

/** True for a command of Holdfast of one kind about one key. */
export function isCall(words: readonly string[], op: Spoken, key: string): boolean {
  const call = callOf(words);
  return call?.op === op && call.record.endsWith(`{${key}}`);
}

/** The scripts are told apart by their arguments: names are not on the wire. */
function opOf(args: readonly string[]): Spoken {
  if (args.length === ACQUIRE_ARGS) return 'acquire';
  const [id = '', second = ''] = args;
  // a poll names the retention first, and ids after it
  if (args.length !== 3 || isNumber(id)) return 'other';
  return isNumber(second) ? 'renew' : 'release';
}

function isNumber(text: string): boolean {
  return /^\d+$/.test(text);
}
