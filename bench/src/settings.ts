/** The command line of a run, and its settings. */
import { parseArgs } from 'node:util';
import { paced, type Server, type ServerName } from 'holdfast-testkit';
import { type Kind, KINDS } from './scale/sites.js';
import { type Part, PARTS } from './scale/measuring.js';
import { CLIENTS, type ClientName } from './variants.js';

/** The scenarios; the last four give the pictures of cost against a size. */
export const SCENARIOS = [
  'a',
  'b',
  'c',
  'd',
  'e',
  'f',
  'g',
  'h',
  'i',
  'j',
  'k',
  'keys',
  'holders',
  'waiters',
  'processes',
] as const;
export type ScenarioId = (typeof SCENARIOS)[number];

/** Planted libraries, with which the tests check the bench itself. */
export const PLANTED = ['cheat', 'hang'] as const;
export type Planted = (typeof PLANTED)[number];

/** How much each scenario measures. */
export interface Sizes {
  /** The duration of each measurement in each round, in seconds. */
  readonly seconds: number;
  /** Concurrent loops of scenario b. */
  readonly loops: number;
  /** Waiters of scenario f. */
  readonly waiters: readonly number[];
  /** Leases held in scenario g. */
  readonly leases: readonly number[];
  /** Seconds for which the leases of scenario g are held. */
  readonly holdSeconds: number;
  /** Locks held in scenario i. */
  readonly locks: number;
  /** Readers of scenario j. */
  readonly readers: number;
  /** Killed holders of scenario k in each round, and their ttl in ms. */
  readonly kills: number;
  readonly killTtl: number;
  /** The sizes of the pictures of cost. */
  readonly sweeps: Readonly<
    Record<'keys' | 'holders' | 'waiters' | 'processes', readonly number[]>
  >;
}

const FULL: Sizes = {
  seconds: 0.4,
  loops: 256,
  waiters: [1000, 10_000],
  leases: [5000, 100_000],
  holdSeconds: 10,
  locks: 5000,
  readers: 10_000,
  kills: 10,
  killTtl: 1000,
  sweeps: {
    keys: [1, 4, 16, 64, 256, 1024],
    holders: [10, 100, 1000, 10_000],
    waiters: [10, 100, 1000, 10_000],
    processes: [1, 2, 4, 8],
  },
};

const QUICK: Sizes = {
  seconds: 0.1,
  loops: 32,
  waiters: [50],
  leases: [100],
  // so that a busy machine grants a lease of a fifth of it in time
  holdSeconds: paced(1000) / 1000,
  locks: 100,
  readers: 100,
  kills: 1,
  killTtl: 1000,
  sweeps: { keys: [1, 16], holders: [10, 100], waiters: [10, 50], processes: [1, 2] },
};

export interface Settings {
  readonly server: ServerName;
  readonly clients: readonly ClientName[];
  readonly scenarios: readonly ScenarioId[];
  readonly rounds: number;
  readonly sizes: Sizes;
  readonly quick: boolean;
  readonly peers: boolean;
  readonly planted: readonly Planted[];
  /** The file for the result. */
  readonly json: string | undefined;
  /** A result file to draw; nothing is measured then. */
  readonly draw: string | undefined;
  /** The folder of the pictures; by default `docs/pictures`. */
  readonly into: string | undefined;
  /** Prints only the sizes of bundled programs. */
  readonly size: boolean;
  /** Prints only what tracing costs. */
  readonly tracing: boolean;
  /** Prints only what the start of a process costs. */
  readonly start: boolean;
  /** Prints only how far calls go through the library. */
  readonly ways: boolean;
  /** Measures only many calls in one turn of one process. */
  readonly burst: boolean;
  /** Measures only many programs that ask for one lock at once, on one server and on a quorum. */
  readonly contend: boolean;
  /** Prints only what idle waiters cost. */
  readonly idle: boolean;
  readonly places: readonly IdlePlace[];
  /** Measures only what each thing costs as it grows, in these stores. */
  readonly scale: boolean;
  readonly kinds: readonly Kind[];
  readonly parts: readonly Part[];
  readonly million: boolean;
  /** Only compares plans with real loads. */
  readonly plans: boolean;
  /** Measures only the listing of many locks. */
  readonly list: boolean;
  readonly overload: boolean;
  /** Measures only locks in a file, beside a lock file. */
  readonly files: boolean;
  /** Measures only locks on etcd, beside its own lock. */
  readonly etcd: boolean;
  /** Measures only locks on PostgreSQL, beside bare updates, advisory locks and a polled row. */
  readonly postgres: boolean;
  /** Measures only what the short paths of the scripts earn. */
  readonly short: boolean;
  /** The arguments as given, for the result. */
  readonly command: string;
}

/** What a scenario gets: the settings, the server, and the folder of the installed peers. */
export interface Bench extends Settings {
  readonly server: ServerName;
  readonly target: Server;
  /** `undefined` if the run measures no peers. */
  readonly peersFolder: string | undefined;
}

/** Where idle waiters wait. */
export const PLACES = ['mutex', 'latch', 'barrier', 'condition'] as const;
export type IdlePlace = (typeof PLACES)[number];

export const USAGE: string = `npm run bench -- [options]
  --only a,c,e     scenarios: ${SCENARIOS.join(', ')} (default all)
  --rounds N       counted rounds of each scenario (default 7; with --quick 1)
  --seconds N      duration of a measurement of scenarios a to e (default 0.4)
  --quick          every scenario at a small size, within about a minute
  --client NAME    one of ${CLIENTS.join(', ')}; may be repeated (default all)
  --server NAME    redis (default) or valkey
  --no-peers       without the other libraries, so without the npm registry
  --json FILE      writes the result as JSON
  --size           measures nothing: prints the sizes of bundled programs
  --tracing        measures only what tracing costs an acquisition
  --start          measures only the start of a process: import, first and second lock
  --ways           counts only the files and functions that a call passes
  --contend        measures only contenders for one lock, on one server and on a quorum
  --burst          measures only 1,000,000 acquisitions and releases in one turn
  --idle           measures only what idle waiters cost the server
  --at NAME        with --idle: one of ${PLACES.join(', ')}; may be repeated
  --scale          measures only what leases, waiters, processes and keys cost as they grow
  --plans          with --scale: only compares plans with real loads, by the costs in FILE
  --million        with --scale: also 1,000,000 leases
  --store NAME     with --scale, --overload, --burst and --list: one of
                   ${KINDS.join(', ')};
                   may be repeated (default all)
  --part NAME      with --scale: one of ${PARTS.slice(0, 6).join(', ')},
                   ${PARTS.slice(6).join(', ')}; may be repeated
  --overload       measures only contenders beside busy loops, on one server and on a quorum
  --list           measures only the listing of 100,000 and 1,000,000 locks
  --files          measures only locks in a file of SQLite, beside a lock file
  --etcd           measures only locks on etcd, beside bare transactions and its own lock
  --postgres       measures only locks on PostgreSQL, beside bare updates and advisory locks
  --short          measures only what each short path of the scripts earns
  --draw FILE      measures nothing: draws the pictures of a result
  --into FOLDER    the folder of the pictures (default docs/pictures)`;

/** Throws with a readable message if the command line is invalid. */
export function readSettings(args: string[]): Settings | undefined {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean' },
      only: { type: 'string', multiple: true },
      client: { type: 'string', multiple: true },
      server: { type: 'string', default: 'redis' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      'no-peers': { type: 'boolean', default: false },
      plant: { type: 'string', multiple: true },
      json: { type: 'string' },
      draw: { type: 'string' },
      into: { type: 'string' },
      size: { type: 'boolean', default: false },
      tracing: { type: 'boolean', default: false },
      start: { type: 'boolean', default: false },
      ways: { type: 'boolean', default: false },
      burst: { type: 'boolean', default: false },
      contend: { type: 'boolean', default: false },
      idle: { type: 'boolean', default: false },
      scale: { type: 'boolean', default: false },
      million: { type: 'boolean', default: false },
      plans: { type: 'boolean', default: false },
      store: { type: 'string', multiple: true },
      part: { type: 'string', multiple: true },
      at: { type: 'string', multiple: true },
      list: { type: 'boolean', default: false },
      overload: { type: 'boolean', default: false },
      files: { type: 'boolean', default: false },
      etcd: { type: 'boolean', default: false },
      postgres: { type: 'boolean', default: false },
      short: { type: 'boolean', default: false },
    },
  });
  if (values.help === true) return undefined;
  const { quick } = values;
  const clients = quick ? (['ioredis-5'] as const) : CLIENTS;
  const [server = 'redis'] = chosen('server', [values.server], ['redis', 'valkey'] as const);
  return {
    server,
    clients: chosen('client', values.client ?? clients, CLIENTS),
    scenarios: chosen('only', listed(values.only), SCENARIOS),
    rounds: whole('rounds', values.rounds ?? (quick ? '1' : '7')),
    sizes: sizesOf(quick ? QUICK : FULL, values.seconds),
    quick,
    peers: !values['no-peers'],
    planted: chosen('plant', values.plant ?? [], PLANTED),
    json: values.json,
    ...{ draw: values.draw, into: values.into },
    size: values.size,
    tracing: values.tracing,
    start: values.start,
    ways: values.ways,
    burst: values.burst,
    contend: values.contend,
    idle: values.idle,
    scale: values.scale,
    million: values.million,
    plans: values.plans,
    kinds: chosen('store', values.store, KINDS),
    parts: chosen('part', listed(values.part), PARTS),
    places: chosen('at', listed(values.at), PLACES),
    ...{ list: values.list, overload: values.overload, files: values.files, etcd: values.etcd },
    ...{ postgres: values.postgres, short: values.short },
    command: ['npm run bench --', ...args].join(' '),
  };
}

function sizesOf(sizes: Sizes, seconds: string | undefined): Sizes {
  return seconds === undefined ? sizes : { ...sizes, seconds: whole('seconds', seconds) };
}

const listed = (words: string[] | undefined): string[] | undefined =>
  words?.flatMap((one) => one.split(','));

function chosen<T extends string>(
  option: string,
  given: readonly string[] | undefined,
  known: readonly T[],
): T[] {
  if (given === undefined) return [...known];
  for (const name of given) {
    if (!known.some((one) => one === name)) {
      throw new Error(`--${option} ${name}: expected one of ${known.join(', ')}`);
    }
  }
  return known.filter((one) => given.includes(one));
}

function whole(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) {
    throw new Error(`--${option} ${text}: expected a whole number above 0`);
  }
  return value;
}
