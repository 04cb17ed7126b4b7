/**
 * What each thing costs as it grows: `npm run bench -- --scale`.
 *
 * Counts and bytes do not depend on other programs. Processor times are those of the processes; on
 * a busy machine they are higher by cold caches. No figure is a wall time.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Costs, TOPOLOGIES, type Topology } from 'holdfast-cli/dist/plan/costs.js';
import { describeMachine, load, type Machine } from '../machine.js';
import type { Settings } from '../settings.js';
import { checkPlans, type Comparison, isFar } from './check.js';
import { allCosts, costsOf } from './costs.js';
import type { Kind } from './sites.js';
import { type Cost, PARTS, type Row, type Sizes } from './measuring.js';
import { measureKind } from './things.js';

const FULL: Sizes = {
  pairs: [1, 10, 100, 1000],
  pauses: [5, 20, 100],
  leases: [1, 10, 100, 1000, 10_000, 100_000],
  processes: [2, 10, 100, 1000, 3000],
  waiters: [1, 10, 100, 1000, 10_000],
  calls: [1, 10, 100, 1000, 10_000],
  masters: [1, 2, 3],
  ...{ keys: 20_000, operations: 8000, ttl: 5000, many: 500_000 },
  ...{ restMs: 20_000, idleMs: 64_000, rests: 5 },
};

/** Of the other stores. */
const OTHERS: Sizes = {
  ...{ pairs: [1, 10], pauses: [100], leases: [1, 10, 100, 1000, 5000] },
  ...{ processes: [2, 10, 30, 100], waiters: [1, 10, 100] },
  ...{ calls: [1, 100, 10_000], masters: [1, 2, 3] },
  ...{ keys: 2000, operations: 2000, ttl: 5000, many: 500_000 },
  ...{ restMs: 10_000, idleMs: 32_000, rests: 5 },
};

/** Of these, one call renews many leases. */
const SERVERS: readonly Kind[] = ['replicas', 'cluster', 'memory'];

/** A renewal is a command for each lease, so the processes need more time. */
const REGISTERS: Sizes = { ...OTHERS, leases: [1, 10, 100, 500], ttl: 10_000 };
const QUORUM: Sizes = {
  ...{ ...REGISTERS, leases: [1, 10, 100, 500, 10_000, 100_000], many: 10_000 },
  ...{ waiters: [1, 10, 100, 1000], idleMs: 64_000 },
};

const QUICK: Sizes = {
  pairs: [1, 10],
  pauses: [20],
  leases: [100],
  processes: [2],
  waiters: [10],
  calls: [10],
  masters: [1],
  ...{ keys: 1000, operations: 400, ttl: 2000, many: 500_000 },
  ...{ restMs: 2000, idleMs: 2000, rests: 1 },
};

const MILLION = 1_000_000;

export interface ScaleResult {
  readonly format: 'scale-1';
  readonly date: string;
  readonly command: string;
  readonly machine: Machine;
  readonly server: string;
  readonly load: { readonly before: number; readonly after: number };
  readonly rows: readonly Row[];
  /** What `holdfast plan` computes with. */
  readonly costs: Partial<Record<Topology, Costs>>;
  readonly checks: readonly Comparison[];
}

export async function printScale(settings: Settings): Promise<void> {
  const { server, quick, command, kinds, million, parts, plans } = settings;
  const sizesOf = (kind: Kind): Sizes => {
    if (quick) return QUICK;
    if (kind === 'one') return million ? { ...FULL, leases: [...FULL.leases, MILLION] } : FULL;
    if (kind === 'quorum') return QUORUM;
    return SERVERS.includes(kind) ? OTHERS : REGISTERS;
  };
  const run = new Run(settings);
  console.log(`${command}\nload average ${load().toFixed(1)}; the cost of one, in memory or`);
  console.log('on servers: a waiter and a connection in a second; times in µs of processor time');
  print(HEAD);
  for (const kind of plans ? [] : kinds) {
    const add = (row: Row): void => {
      print([row.kind, row.thing, `${row.at}`, ...COLUMNS.map((name) => show(row.cost[name]))]);
      run.row(row);
    };
    await measureKind(kind, server, sizesOf(kind), add, parts);
  }
  if (quick || parts.length < PARTS.length) return;
  const chosen = TOPOLOGIES.filter((topology) => kinds.includes(topology));
  const costs = Object.fromEntries(chosen.map((name) => [name, costsOf(run.rows, name)]));
  await checkPlans(server, costs, (comparison) => {
    printComparison(comparison);
    run.comparison(comparison);
  });
}

/** The result, which is written after each row, because a run is long. */
class Run {
  rows: readonly Row[] = [];
  #checks: readonly Comparison[] = [];
  readonly #settings: Settings;
  readonly #before = load();

  /** Rows that this run does not measure are kept from an earlier result. */
  constructor(settings: Settings) {
    this.#settings = settings;
    const { json, kinds, parts, plans } = settings;
    const keeps = plans || parts.length < PARTS.length;
    if (json === undefined || !existsSync(json)) return;
    const { rows, checks } = JSON.parse(readFileSync(json, 'utf8')) as ScaleResult;
    this.rows = rows.filter(({ kind }) => keeps || !kinds.includes(kind));
    this.#checks = checks.filter(({ topology }) => (keeps && !plans) || !kinds.includes(topology));
  }

  row(row: Row): void {
    const { at, kind, thing } = row;
    const isLike = (other: Row): boolean => other.kind === kind && other.thing === thing;
    const others = this.rows.filter((other) => !isLike(other) || other.at !== at);
    // the rows of a thing are in the order of their sizes
    const larger = others.findIndex((other) => isLike(other) && other.at > at);
    this.rows = others.toSpliced(larger === -1 ? others.length : larger, 0, row);
    this.#write();
  }

  comparison(comparison: Comparison): void {
    this.#checks = [...this.#checks, comparison];
    this.#write();
  }

  #write(): void {
    const { command, json, server } = this.#settings;
    if (json === undefined) return;
    const { rows } = this;
    const result: ScaleResult = {
      ...{ format: 'scale-1', date: new Date().toISOString(), command, server },
      ...{ machine: describeMachine(), load: { before: this.#before, after: load() } },
      ...{ rows, costs: allCosts(rows), checks: this.#checks },
    };
    mkdirSync(dirname(json), { recursive: true });
    writeFileSync(json, `${JSON.stringify(result, null, 1)}\n`);
  }
}

/** The plan of each figure as a part of what was seen. */
function printComparison({ name, figures }: Comparison): void {
  const ratios = figures.map((figure) => {
    const { name: of, planned, seen } = figure;
    const far = isFar(figure) ? ' OFF' : '';
    return `${of} ${(planned / seen).toFixed(2)} (${show(planned)} of ${show(seen)})${far}`;
  });
  console.log(`plan: ${name}: ${ratios.join(', ')}`);
}

const COLUMNS = [
  ...(['commands', 'inner', 'messages', 'server', 'client', 'received', 'sent'] as const),
  ...(['between', 'serverBytes', 'clientBytes', 'connections'] as const),
] satisfies (keyof Cost)[];
const HEAD = [
  ...['store', 'thing', 'at', 'commands', 'inner', 'messages', 'server µs', 'client µs'],
  ...['received', 'sent', 'between', 'B server', 'B client', 'connections'],
];
const WIDTHS = [9, 14, 7];

const show = (value: number | undefined): string =>
  value === undefined ? '' : `${Number(value.toPrecision(3))}`;

function print(cells: readonly string[]): void {
  console.log(cells.map((cell, at) => cell.padStart(WIDTHS[at] ?? 9)).join(' '));
}
