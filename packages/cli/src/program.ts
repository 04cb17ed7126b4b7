/** The commands with their options and help. */
import { readFileSync } from 'node:fs';
import { Argument, Command, Option } from 'commander';
import type { Words } from './child/under-lock.js';
import { completion, SHELLS } from './commands/completion.js';
import type { DashboardOptions } from './commands/dashboard.js';
import type { DoctorOptions } from './commands/doctor.js';
import type { LeadOptions } from './commands/lead.js';
import type * as look from './commands/look.js';
import type { OnceOptions } from './commands/once.js';
import type { PlanOptions } from './commands/plan.js';
import type { RunOptions } from './commands/run.js';
import type { WatchOptions } from './commands/watch.js';
import { usage } from './failure.js';
import * as help from './help.js';
import { type CommonOptions, common, conflictCode, locks, runs } from './options.js';
import { TOPOLOGIES } from './plan/costs.js';
import { address, amount, bytes, count, duration, port, share } from './values.js';
import { inWords } from './view/words.js';

/** The words of the command line, and those after the first `--`. */
export interface CommandLine {
  readonly own: readonly string[];
  /** `undefined` without `--`. */
  readonly rest: readonly string[] | undefined;
}

/** The commands that run a command. */
const RUNNING: readonly string[] = ['run', 'once', 'lead'];

/**
 * Splits at the first `--`, so neither side can take options of the other. For commands that run
 * nothing, `--` has its usual meaning: no options after it.
 */
export function split(args: readonly string[]): CommandLine {
  const at = args.indexOf('--');
  if (at < 0 || !RUNNING.includes(args[0] ?? '')) return { own: args, rest: undefined };
  return { own: args.slice(0, at), rest: args.slice(at + 1) };
}

/** Called with the exit code of the command that was chosen. */
type Exit = (code: number) => void;

/**
 * The program; `rest` are the words after `--`. A command is loaded when it is chosen: each loads
 * other libraries, and a job that starts often pays for them.
 */
export function createProgram(rest: CommandLine['rest'], exit: Exit): Command {
  const program = new Command('holdfast')
    .description(
      'Run commands under distributed locks, and look at the locks: on Redis, Valkey, ' +
        'PostgreSQL, SQLite and etcd.',
    )
    .version(version())
    .addHelpText('after', help.MAIN_HELP)
    // `main` reports the errors
    .configureOutput({ outputError: () => undefined })
    .exitOverride();
  addRunning(program, rest, exit);
  addLooking(program, exit);
  addDoctor(program, exit);
  addDashboard(program, exit);
  addPlan(program);
  program
    .command('completion')
    .summary('print a script that completes commands and options')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText('after', help.COMPLETION_HELP)
    .action((shell: (typeof SHELLS)[number]) => completion(shell, program));
  return program;
}

function version(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** The commands that run a command. */
function addRunning(program: Command, rest: CommandLine['rest'], exit: Exit): void {
  locks(runs(program.command('run')))
    .summary('run a command under a lock')
    .description('Runs a command under a lock, and renews the lock while the command runs.')
    .argument('<key>', 'the lock')
    .usage('[options] <key> -- command [arguments]')
    .addHelpText('after', help.RUN_HELP)
    .action(async (key: string, options: RunOptions, self: Command) => {
      const { run } = await import('./commands/run.js');
      exit(await run(key, wordsOf(rest, self), options));
    });

  runs(program.command('once'))
    .summary('run a command once for all machines')
    .description('Runs a command on one of the machines that start it at the same time, for cron.')
    .argument('<name>', 'the job')
    .usage('[options] <name> --at-least <time> -- command [arguments]')
    .requiredOption('--at-least <time>', 'no other machine runs it for this time', duration)
    .addOption(
      new Option('--at-most <time>', 'end the command after this time')
        .argParser(duration)
        .default(3_600_000, '1h'),
    )
    .option('--slot <text>', 'the scheduled time: each slot runs once')
    .option('--retention <time>', 'how long a slot is remembered (default: 1h)', duration)
    .addOption(
      new Option('--after-failure <what>', 'whether a failed run counts').choices([
        'keep',
        'release',
      ]),
    )
    .option('-w, --wait <time>', 'wait instead of skipping', duration)
    .addOption(conflictCode(0))
    .addHelpText('after', help.ONCE_HELP)
    .action(async (name: string, options: OnceOptions, self: Command) => {
      const { once } = await import('./commands/once.js');
      exit(await once(name, wordsOf(rest, self), options));
    });

  runs(program.command('lead'))
    .summary('run a command on one machine of many')
    .description('Waits until this machine is the leader, and runs a command while it is.')
    .argument('<name>', 'the election')
    .usage('[options] <name> -- command [arguments]')
    .option('--http <address>', 'serve the leader on a port or host:port', address)
    .addHelpText('after', help.LEAD_HELP)
    .action(async (name: string, options: LeadOptions, self: Command) => {
      const { lead } = await import('./commands/lead.js');
      exit(await lead(name, wordsOf(rest, self), options));
    });
}

/** The commands that look at locks, and end them. */
function addLooking(program: Command, exit: Exit): void {
  const every = (ms: number): Option =>
    new Option('--every <time>', 'time between two looks')
      .argParser(duration)
      .default(ms, inWords(ms));

  common(program.command('ls'))
    .summary('list the locks in use')
    .argument('[pattern]', 'keys with *, ? and [a-z]')
    .option('--count', 'only how many are in use or were used a moment ago')
    .addHelpText('after', help.LS_HELP)
    .action(async (pattern: string | undefined, options: look.ListingOptions) => {
      const { ls } = await import('./commands/look.js');
      exit(await ls(pattern, options));
    });

  common(program.command('inspect'))
    .summary('show the holders and the queue of a lock')
    .argument('<key>', 'the lock')
    .addHelpText('after', help.INSPECT_HELP)
    .action(async (key: string, options: CommonOptions) => {
      const { inspect } = await import('./commands/look.js');
      exit(await inspect(key, options));
    });

  common(program.command('watch'))
    .summary('show the locks in use, live')
    .argument('[pattern]', 'keys with *, ? and [a-z]')
    .addOption(every(1000))
    .option('--count <number>', 'end after this many looks', count)
    .addHelpText('after', help.WATCH_HELP)
    .action(async (pattern: string | undefined, options: WatchOptions) => {
      const { watch } = await import('./commands/watch.js');
      exit(await watch(pattern, options));
    });

  common(program.command('break'))
    .summary('end the leases of a lock, after a question')
    .argument('<key>', 'the lock')
    .option('-y, --yes', 'do not ask')
    .option('--reason <text>', 'why; the holder reads it')
    .option('--id <id>', 'end only the lease with this id, see inspect')
    .addHelpText('after', help.BREAK_HELP)
    .action(async (key: string, options: look.BreakOptions) => {
      const { breakLock } = await import('./commands/look.js');
      exit(await breakLock(key, options));
    });

  common(program.command('wait'))
    .summary('wait until a lock is free')
    .argument('<key>', 'the lock')
    .option('-w, --wait <time>', 'wait for at most this time (default: no limit)', duration)
    .addOption(every(500))
    .addOption(conflictCode(75))
    .addHelpText('after', help.WAIT_HELP)
    .action(async (key: string, options: look.WaitOptions) => {
      const { waitFor } = await import('./commands/look.js');
      exit(await waitFor(key, options));
    });
}

function addDashboard(program: Command, exit: Exit): void {
  common(program.command('dashboard'))
    .summary('show the locks in the browser, live')
    .addOption(
      new Option('--port <port>', 'where to listen, on this machine only')
        .argParser(port)
        .default(4650),
    )
    .option('--write', 'allow forced releases, after a reason and a confirmation')
    .addHelpText('after', help.DASHBOARD_HELP)
    .action(async (options: DashboardOptions) => {
      const { dashboard } = await import('./commands/dashboard.js');
      exit(await dashboard(options));
    });
}

function addDoctor(program: Command, exit: Exit): void {
  common(program.command('doctor'))
    .summary('look for what endangers locks on the servers')
    .addOption(
      new Option('--ttl <time>', 'length of the leases that the programs use')
        .argParser(duration)
        .default(10_000, '10s'),
    )
    .addOption(
      new Option('--claim-window <time>', 'their claim window')
        .argParser(duration)
        .default(1000, '1s'),
    )
    .option('--strict', 'exit with 1 for notices too')
    .addHelpText('after', help.DOCTOR_HELP)
    .action(async (options: DoctorOptions) => {
      const { doctor } = await import('./commands/doctor.js');
      exit(await doctor(options));
    });
}

/** It asks no server, so it has none of the common options but `--json`. */
function addPlan(program: Command): void {
  program
    .command('plan')
    .summary('compute what a load on Redis or Valkey needs: servers, memory, connections')
    .addOption(
      new Option('--topology <name>', 'the servers').choices(TOPOLOGIES).default(TOPOLOGIES[0]),
    )
    .requiredOption('--processes <number>', 'processes that use locks', amount)
    .addOption(
      new Option('--locks <number>', 'locks held without end, in addition to those of --rate')
        .argParser(amount)
        .default(0),
    )
    .addOption(
      new Option('--rate <number>', 'acquisitions in a second').argParser(amount).default(0),
    )
    .addOption(
      new Option('--hold <time>', 'how long they hold their locks').argParser(duration).default(0),
    )
    .addOption(
      new Option('--ttl <time>', 'length of the leases').argParser(duration).default(10_000, '10s'),
    )
    .addOption(
      new Option('--contended <share>', 'acquisitions that wait for another process: 0.3 or 30%')
        .argParser(share)
        .default(0),
    )
    .addOption(
      new Option('--waiters <number>', 'processes that wait at the same time')
        .argParser(amount)
        .default(0),
    )
    .addOption(
      new Option('--hot-keys <number>', 'keys that those who wait share')
        .argParser(count)
        .default(1),
    )
    .option('--keys <number>', 'different keys in use (default: one for each lock)', amount)
    .option('--servers <number>', 'servers of the quorum, masters, or replicas', count)
    .addOption(
      new Option('--memory <size>', 'memory of a server').argParser(bytes).default(1e9, '1GB'),
    )
    .option('--json', 'print JSON, for programs')
    .addHelpText('after', help.PLAN_HELP)
    .action(async (options: PlanOptions) => {
      const { plan } = await import('./commands/plan.js');
      plan(options);
    });
}

function wordsOf(rest: CommandLine['rest'], command: Command): Words {
  const [file, ...args] = rest ?? [];
  if (file === undefined || file === '') {
    const name = command.name();
    throw usage('there is no command to run', `holdfast ${name} KEY -- command arguments`);
  }
  return [file, ...args];
}
