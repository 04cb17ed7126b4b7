/** Recognizes Holdfast's commands in the commands that a proxy sees. */
import { parts } from '../../../../packages/holdfast/dist/store/redis/generated/script-texts.js';
import { scripts } from '../../../../packages/holdfast/dist/store/redis/generated/scripts.js';

export type Spoken = 'acquire' | 'release' | 'renew' | 'turn' | 'other';

/** A call of a script. */
export interface Call {
  readonly op: Spoken;
  /** The name of the main record. */
  readonly record: string;
  readonly args: readonly string[];
}

const KEYS = 3;
/** The script of each operation, by its hash (EVALSHA) and by its source (EVAL). */
const OPERATIONS = new Map<string, Spoken>(
  (['acquire', 'release', 'renew', 'turn'] as const).flatMap((op) => [
    [scripts[op].sha, op] as const,
    [parts[op].join(''), op] as const,
  ]),
);

/** The words of EVALSHA or EVAL as a call; undefined for any other command. */
export function callOf(words: readonly string[]): Call | undefined {
  const [command = '', script = '', count, record = ''] = words;
  if (!/^eval(sha)?$/i.test(command) || count !== `${KEYS}`) return undefined;
  const args = words.slice(3 + KEYS);
  return { op: OPERATIONS.get(script) ?? 'other', record, args };
}

/** True for a command of Holdfast of one kind for one key. */
export function isCall(words: readonly string[], op: Spoken, key: string): boolean {
  const call = callOf(words);
  return call?.op === op && call.record.endsWith(`{${key}}`);
}
