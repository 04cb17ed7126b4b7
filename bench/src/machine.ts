/** The machine of a run: its description, its load, its cores, and how fast a core is right now. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, loadavg, release, totalmem, type } from 'node:os';

const PACKAGES = ['ioredis', 'redis', 'ioredis-5', 'redis-5'];

export interface Machine {
  readonly node: string;
  readonly system: string;
  readonly cores: number;
  readonly processor: string;
  readonly memory: string;
  readonly clients: Readonly<Record<string, string>>;
  /** False if processes cannot be bound to a core here; then every figure is for all cores. */
  readonly pinning: boolean;
}

export function describeMachine(): Machine {
  const require = createRequire(import.meta.url);
  const version = (name: string): string =>
    (require(`${name}/package.json`) as { version: string }).version;
  return {
    node: process.version,
    system: `${type()} ${release()}`,
    cores: cpus().length,
    processor: cpus()[0]?.model.trim() ?? '',
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    clients: Object.fromEntries(PACKAGES.map((name) => [name, version(name)])),
    pinning: CORES !== undefined,
  };
}

/** The load average of the last minute. */
export const load = (): number => loadavg()[0] as number;

/** The program that binds a process to cores; not every system has it. */
const TASKSET = 'taskset';

/** Two cores that this process may use; `undefined` without `taskset` or with one core only. */

function findCores(): readonly [number, number] | undefined {
  if (spawnSync(TASKSET, ['-V']).status !== 0) return undefined;
  const status = readFileSync('/proc/self/status', 'utf8');
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? '';
  const all = list.split(',').flatMap((part) => {
    const [from = 0, to = from] = part.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
  const [first, second] = all;
  return first === undefined || second === undefined ? undefined : [first, second];
}

const CORES = findCores();

/** Where the processes of a measurement run. */
export type Placement = 'one core' | 'a core each' | 'two cores';

/** The words of a placement; without `taskset` there is only one. */
export const placed = (placement: Placement): string =>
  CORES === undefined ? 'not bound to cores' : placement;

/**
 * Binds the server to its cores, and this process to those of the workers, which inherit them. The
 * calibration loop runs in this process, so it meets the same neighbours as the workers.
 */
export function place(placement: Placement, serverPid: number): void {
  if (CORES === undefined) return;
  const [first, second] = CORES;
  const both = `${first},${second}`;
  const [server, workers] = {
    'one core': [`${first}`, `${first}`],
    'a core each': [`${first}`, `${second}`],
    'two cores': [both, both],
  }[placement] as [string, string];
  bind(serverPid, server);
  bind(process.pid, workers);
}

function bind(pid: number, cores: string): void {
  execFileSync(TASKSET, ['-a', '-p', '-c', cores, `${pid}`], { stdio: 'ignore' });
}

const CALIBRATION_TURNS = 8_000_000;

/** Milliseconds of a fixed piece of work: more when other programs use the core. */
export function calibrate(): number {
  const start = performance.now();
  let value = 1;
  for (let turn = 0; turn < CALIBRATION_TURNS; turn++) value = Math.imul(value, 1_103_515_245) + 1;
  // `value` is used, so that the loop is not optimised away
  return performance.now() - start + (value === 0.5 ? 1 : 0);
}
