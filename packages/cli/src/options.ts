/** Options that several commands have. */
import { type Command, Option } from 'commander';
import type { StoreOptions } from './store.js';
import { collect, duration, exitCode, permits, type Permits } from './values.js';

export interface CommonOptions extends StoreOptions {
  readonly json?: boolean;
}

/** Options of commands that run a command under a lock. */
export interface RunsOptions extends CommonOptions {
  readonly verbose?: boolean;
  readonly ttl: number;
  readonly killAfter?: number;
  readonly label?: string;
}

/** `wait` is undefined for no limit, and false for `--no-wait`. */
export interface LockChoice {
  readonly wait?: number | false;
  readonly fair?: boolean;
  readonly shared?: boolean;
  readonly exclusive?: boolean;
  readonly permits?: Permits;
  readonly maxHold?: number;
  readonly conflictExitCode: number;
}

/** Which store, and how results are printed. */
export function common(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--url <url>',
        'server: redis://, rediss:// (TLS), redis+cluster://, redis+sentinel:// or a socket ' +
          'path; repeat it for a quorum; or postgres://, sqlite:, etcd://',
      )
        .argParser(collect)
        .default([], 'REDIS_URL, or redis://127.0.0.1:6379'),
    )
    .option('--prefix <text>', 'prefix of all keys in the store (default: holdfast:)')
    .option('--table <name>', 'PostgreSQL: the table of the locks (default: holdfast_locks)')
    .addOption(
      new Option('--durable', 'quorum: no server loses an acknowledged write at a restart'),
    )
    .addOption(
      new Option(
        '--restart-guard <time>',
        'quorum: how long a server does not vote after its start (default: 1m)',
      ).argParser(duration),
    )
    .option('--json', 'print JSON, for programs');
}

/** For commands that run a command. */
export function runs(command: Command): Command {
  return common(command)
    .addOption(
      new Option('--ttl <time>', 'length of the lease; a crashed machine blocks for as long')
        .argParser(duration)
        .default(30_000, '30s'),
    )
    .option(
      '--kill-after <time>',
      'from SIGTERM to SIGKILL when the lock is lost (default: 5s, or less if the ttl is short)',
      duration,
    )
    .option('--label <text>', 'shown by ls and inspect (default: the name of the command)')
    .option('-v, --verbose', 'report each step on standard error');
}

export function conflictCode(code: number): Option {
  return new Option('-E, --conflict-exit-code <code>', 'exit code if the lock is not free')
    .argParser(exitCode)
    .default(code);
}

/** `--wait` and `--no-wait` set one value, so commander does not see that they contradict. */
function refuseBothWaits(command: Command): Command {
  const given = new Set<string>();
  for (const name of ['wait', 'no-wait']) {
    command.on(`option:${name}`, () => {
      if (given.add(name).size === 1) return;
      command.error("error: option '-n, --no-wait' cannot be used with option '-w, --wait <time>'");
    });
  }
  return command;
}

/** For `run`: which lock, and how long to wait. */
export function locks(command: Command): Command {
  return refuseBothWaits(command)
    .option('-w, --wait <time>', 'wait for at most this time (default: no limit)', duration)
    .option('-n, --no-wait', 'do not wait: fail if the lock is not free')
    .addOption(conflictCode(75))
    .option('--fair', 'strict order of arrival')
    .addOption(
      new Option('-s, --shared', 'as one of several readers').conflicts(['exclusive', 'permits']),
    )
    .addOption(
      new Option('-x, --exclusive', 'as the writer that excludes readers').conflicts('permits'),
    )
    .option('--permits <wanted/total>', 'take 2 of 8 permits of a semaphore: 2/8', permits)
    .option('--max-hold <time>', 'end the command after this time', duration);
}
