/**
 * Finds a program, in this order: an environment variable, PATH, a package unpacked into the
 * repository's `.servers/`. `find` only searches; `prepare` also fills `.servers/` (or, as root,
 * installs) if none is found.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { COLLECTORS, debianSuite, unpack, unpacked } from './debian.js';
import { removeFolder } from './guardian.js';
import { withLock } from './lock.js';

const run = promisify(execFile);

/** The servers that the tests use. */
export type ServerName = 'redis' | 'valkey';

/** All programs that the tests fetch. `redis-6` is older than Holdfast needs. */
export type ProgramName = ServerName | 'redis-6' | 'mariadb' | 'etcd' | 'pgbouncer' | CollectorName;

/** The programs that collect metrics. */
type CollectorName = 'prometheus' | 'victoria-metrics';

/** A program that can be started. */
export interface Binary {
  name: ProgramName;
  version: string;
  /** The words that start it, before the server's arguments. */
  command: string[];
  /** The place where it was found, for messages. */
  source: string;
}

/** The longest time for all attempts together. */
const LIMIT_MS = 5 * 60_000;

const CACHE = fileURLToPath(new URL('../../../.servers/', import.meta.url));

const found = new Map<ProgramName, Promise<Binary>>();

/**
 * Finds the program `name` or, the first time on a machine, fetches it. Safe in concurrent
 * processes.
 */
export function prepare(name: ProgramName): Promise<Binary> {
  let binary = found.get(name);
  if (binary === undefined) {
    binary = findOrFetch(name);
    found.set(name, binary);
    // a failure is not cached: the next attempt may succeed
    binary.catch(() => found.delete(name));
  }
  return binary;
}

async function findOrFetch(name: ProgramName): Promise<Binary> {
  const there = await find(name);
  if (there !== undefined) return there;
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(join(CACHE, '.gitignore'), '*\n');
  const reasons: string[] = [];
  const signal = AbortSignal.timeout(LIMIT_MS);
  await withLock(`${folderOf(name)}.lock`, signal, async () => {
    if ((await find(name)) !== undefined) return;
    for (const way of [fetchPackages, install]) {
      try {
        await way(name, signal);
        if ((await find(name)) !== undefined) return;
      } catch (error) {
        reasons.push(firstLine(error));
      }
    }
  });
  const fetched = await find(name);
  if (fetched !== undefined) return fetched;
  throw new Error(`${advice(name)}${reasons.length > 0 ? ` (tried: ${reasons.join('; ')})` : ''}`);
}

/** The program `name`, if it is already on this machine. */
export async function find(name: ProgramName): Promise<Binary | undefined> {
  const named = process.env[variable(name)];
  if (named !== undefined && named.trim() !== '') {
    const binary = await identify(name, named.trim().split(/\s+/), variable(name));
    if (binary !== undefined) return binary;
    throw new Error(`${variable(name)} is not the command of a working ${name}: ${named}`);
  }
  const onPath = await identify(name, [executable(name)], 'PATH');
  if (onPath !== undefined) return onPath;
  const command = unpacked(name, folderOf(name));
  return command === undefined ? undefined : identify(name, command, '.servers');
}

/** What a program answers to `--version`. On some systems `redis-server` is Valkey. */
const VERSION: Readonly<Record<ProgramName, RegExp>> = {
  redis: /^Redis server v=(\S+)/im,
  'redis-6': /^Redis server v=(6\.\S+)/im,
  valkey: /^Valkey server v=(\S+)/im,
  mariadb: /\sVer (\S+)-MariaDB/,
  pgbouncer: /^PgBouncer (\S+)/im,
  etcd: /^etcd Version: (3\.[4-9]\S*|3\.\d\d\S*)/m,
  prometheus: /^prometheus, version ((?:2\.[4-9]\d|[3-9]|\d\d)\.\S+)/m,
  // that of Debian does not know its version
  'victoria-metrics': /^(.*)$/m,
};

const isServer = (name: ProgramName): boolean => !COLLECTORS.includes(name);

function executable(name: ProgramName): string {
  if (name === 'mariadb') return 'mariadbd';
  if (name === 'etcd' || name === 'pgbouncer') return name;
  return isServer(name) ? `${name}-server` : name;
}

/** The oldest suite with a version that the tests can use; the others have it in this system's. */
const SUITE: Partial<Readonly<Record<ProgramName, string>>> = {
  valkey: 'sid',
  'redis-6': 'bullseye',
  etcd: 'trixie',
  prometheus: 'trixie',
  'victoria-metrics': 'trixie',
};

async function identify(
  name: ProgramName,
  command: string[],
  source: string,
): Promise<Binary | undefined> {
  const [file = '', ...args] = command;
  try {
    const { stdout } = await run(file, [...args, '--version'], { timeout: 10_000 });
    const [, version] = VERSION[name].exec(stdout) ?? [];
    return version === undefined ? undefined : { name, version, command, source };
  } catch {
    return undefined;
  }
}

async function fetchPackages(name: ProgramName, signal: AbortSignal): Promise<void> {
  const own = debianSuite();
  if (own === undefined) throw new Error('this system is not Debian with apt');
  const suite = SUITE[name] ?? own;
  const target = folderOf(name);
  const temporary = mkdtempSync(`${target}-`);
  try {
    await unpack(name, suite, temporary, signal);
    for (const part of ['apt', 'deb']) removeFolder(join(temporary, part));
    // an existing folder contains no working server, otherwise `find` would have returned it
    removeFolder(target);
    renameSync(temporary, target);
  } finally {
    removeFolder(temporary);
  }
}

async function install(name: ProgramName, signal: AbortSignal): Promise<void> {
  if (name !== 'redis' || process.getuid?.() !== 0) return;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', ['-q', 'update'], { env, signal }).catch(() => undefined);
  await run('apt-get', ['-q', '-y', 'install', 'redis-server'], { env, signal });
}

function folderOf(name: ProgramName): string {
  return join(CACHE, isServer(name) ? name : 'collectors');
}

function variable(name: ProgramName): string {
  return `HOLDFAST_${name.toUpperCase().replaceAll('-', '_')}_SERVER`;
}

function advice(name: ProgramName): string {
  return `${executable(name)} not found: install it, or set ${variable(name)} to its path`;
}

function firstLine(error: unknown): string {
  const { message, stderr } = error as Error & { stderr?: string };
  const lines = `${stderr ?? ''}\n${message}`.split('\n');
  return lines.find((line) => line.startsWith('E: ')) ?? message.split('\n')[0] ?? '';
}
