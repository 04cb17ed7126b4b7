/** The commands with their options and help. */
import { Command } from 'commander';
import type { Words } from './child/under-lock.js';
import { run, type RunOptions } from './commands/run.js';
import { usage } from './failure.js';
import { locks, runs } from './options.js';

/** The words of the command line, and those after the first `--`. */
export interface CommandLine {
  readonly own: readonly string[];
  /** `undefined` without `--`. */
  readonly rest: readonly string[] | undefined;
}

/** Splits at the first `--`, so neither side can take options of the other. */
export function split(args: readonly string[]): CommandLine {
  const at = args.indexOf('--');
  if (at < 0) return { own: args, rest: undefined };
  return { own: args.slice(0, at), rest: args.slice(at + 1) };
}

const RUN_HELP = `
Examples:
  holdfast run backup -- pg_dump -f /backup/db.sql db
  holdfast run deploy --wait 10m --verbose -- ./deploy.sh --force
  holdfast run report --no-wait -E 0 -- ./report.sh       # skip if it already runs
  holdfast run gpu --permits 2/8 -- ./train.sh            # two of eight permits
  holdfast run catalogue --shared -- ./read.sh            # readers share, --exclusive writes

Exit codes: that of the command, 128+n if signal n ended it, or
  64 wrong use   69 server unreachable   70 lock lost   75 not acquired   77 access denied
  126 the command cannot be executed     127 the command was not found

The command sees HOLDFAST_KEY, HOLDFAST_FENCE and HOLDFAST_DEADLINE (ms since 1970).`;

/**
 * The program.
 * @param rest the words after `--`
 * @param exit called with the exit code of the command that was chosen
 */
export function createProgram(rest: CommandLine['rest'], exit: (code: number) => void): Command {
  const program = new Command('holdfast')
    .description('Run commands under distributed locks on Redis and Valkey, and look at the locks.')
    // `main` reports the errors
    .configureOutput({ outputError: () => undefined })
    .exitOverride();

  locks(runs(program.command('run <key>')))
    .summary('run a command under a lock')
    .description('Runs a command under a lock, and renews the lock while the command runs.')
    .usage('[options] <key> -- command [arguments]')
    .addHelpText('after', RUN_HELP)
    .action(async (key: string, options: RunOptions, self: Command) => {
      exit(await run(key, wordsOf(rest, self), options));
    });
  return program;
}

function wordsOf(rest: CommandLine['rest'], command: Command): Words {
  const [file, ...args] = rest ?? [];
  if (file === undefined || file === '') {
    const name = command.name();
    throw usage('there is no command to run', `holdfast ${name} KEY -- command arguments`);
  }
  return [file, ...args];
}
