/** What to do about an error reply of the server. Loaded with the first one. */
import { parts } from './generated/script-texts.js';

const ADVICE: Readonly<Record<string, string>> = {
  READONLY: 'this server is a replica; connect the client to the primary',
  MASTERDOWN: 'this replica has lost its primary; connect the client to the primary',
  CLUSTERDOWN: 'the cluster does not serve all slots; see CLUSTER INFO',
  MOVED: 'this server is one node of a cluster; use a client of the cluster',
  MISCONF: 'the server cannot save its data; see its log and its disk',
  NOREPLICAS: 'too few replicas are connected; see min-replicas-to-write',
  LOADING: 'the server loads its data; try again when it is ready',
  BUSY: 'a script runs for too long; see SCRIPT KILL',
  OOM: 'the server is out of memory; raise maxmemory or delete keys',
  NOAUTH: 'the client did not log in; set its user name and password',
};

/** Inside a script, a missing right has no code. */
const NO_RIGHT = /NOPERM|ACL failure|user executing the script/;

export interface Refused {
  readonly prefix: string;
  /** What the client puts before keys, but not channels. */
  readonly keyPrefix: string;
  /** The server names the line of a refused command. */
  readonly script: keyof typeof parts | undefined;
}

export function adviceFor(message: string, refused: Refused): string {
  const advice = isMissingRight(message)
    ? `the user of the client needs ${rightFor(message, refused)}; see SECURITY.md`
    : adviceForCode(message);
  return advice === undefined ? '' : ` (${advice})`;
}

export function isMissingRight(message: string): boolean {
  return NO_RIGHT.test(message);
}

export function adviceForCode(message: string): string | undefined {
  return ADVICE[/^[A-Z]*/.exec(message)?.[0] as string];
}

function rightFor(message: string, { prefix, keyPrefix, script }: Refused): string {
  if (message.includes('channel')) return `&${prefix}wake:*`;
  if (/\bkeys?\b/.test(message)) return `~${keyPrefix}${prefix}*`;
  const source = script === undefined ? '' : parts[script].join('');
  const line = source.split('\n')[Number(/user_script:(\d+)/.exec(message)?.[1]) - 1] ?? '';
  const [, command, sub] =
    /'([a-z|]+)' command/.exec(message) ?? /call\('(\w+)'(?:,\s*'(NUMSUB)')?/.exec(line) ?? [];
  if (command === undefined) return 'more rights';
  return `+${sub === undefined ? command : `${command}|${sub}`}`.toLowerCase();
}
