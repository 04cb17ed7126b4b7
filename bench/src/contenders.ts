/** Contenders that run loops of acquire and release, and the figures of such a run. */
import { percentile } from 'holdfast-testkit';
import { overlaps } from './exclusion.js';
import type { LoopsOrder, LoopsResult } from './orders.js';
import type { FigureName } from './results.js';
import type { Contender, Reading } from './rounds.js';
import { readServer, type ServerReading, since } from './server-readings.js';
import type { Bench } from './settings.js';
import { Team, type TeamOptions } from './team.js';
import type { Variant } from './variants.js';

/** How long the warm-up round checks exclusion. */
const CHECK_MS = 100;

/** The time that tasks get to end their last acquisition: a library that needs more has failed. */
const END_MS = 20_000;
const PLANTED_END_MS = 3000;

export interface Work extends Partial<Omit<LoopsOrder, 'do' | 'ms' | 'count' | 'intervals'>> {
  readonly processes?: number;
  readonly at?: number;
  readonly against?: string;
  /** False: leases are not renewed, so a grant by push is not claimed with a command. */
  readonly renew?: boolean;
}

/** A contender with its own processes, which live until the end of the scenario. */
export abstract class TeamContender implements Contender {
  readonly variant: Variant;
  readonly bench: Bench;
  readonly #options: TeamOptions;
  #team: Team | undefined;

  constructor(bench: Bench, variant: Variant, options: TeamOptions = {}) {
    this.bench = bench;
    this.variant = variant;
    this.#options = options;
  }

  get team(): Team {
    if (this.#team === undefined) throw new Error('not started');
    return this.#team;
  }

  async start(): Promise<void> {
    this.#team = await Team.start(this.bench, this.variant, this.#options);
  }

  abstract measure(warmUp: boolean): Promise<Reading>;

  async close(): Promise<void> {
    await this.#team?.[Symbol.asyncDispose]();
    this.#team = undefined;
  }

  get limit(): number {
    return this.variant.kind === 'planted' ? PLANTED_END_MS : END_MS;
  }
}

export class LoopsContender extends TeamContender {
  readonly at?: number;
  readonly against?: string;
  readonly #work: Work;

  constructor(bench: Bench, variant: Variant, work: Work) {
    super(bench, variant, { processes: work.processes ?? 1, renew: work.renew ?? true });
    this.#work = work;
    if (work.at !== undefined) this.at = work.at;
    if (work.against !== undefined) this.against = work.against;
  }

  /** The first use of a script sends its source, and is not measured. */
  override async start(): Promise<void> {
    await super.start();
    await this.#loops({ ms: 1 });
  }

  async measure(warmUp: boolean): Promise<Reading> {
    const { keys = 'own', polite = false } = this.#work;
    // two holders at once are not seen if each releases at once, so the warm-up round begins with
    // locks that are held for a moment
    const checked = warmUp && keys === 'one' ? await this.#loops({ ms: CHECK_MS, hold: 1 }) : [];
    const before = await readServer(this.bench.target);
    const ms = this.bench.sizes.seconds * 1000;
    const results = await this.#loops({ ms, count: warmUp });
    const server = since(before, await readServer(this.bench.target));
    return keys === 'own' ? alone(results, server) : together(results, server, checked, polite);
  }

  #loops(more: Partial<LoopsOrder> & { ms: number }): Promise<LoopsResult[]> {
    const { processes = 1, tasks = 1, keys = 'own' } = this.#work;
    const { hold = 0, stagger = 0, polite = false } = this.#work;
    const intervals = keys === 'one' && (processes > 1 || polite);
    const order = { tasks, keys, hold, stagger, polite, count: false, intervals, ...more };
    return this.team.ask({ ...order, do: 'loops' }, more.ms + this.limit);
  }
}

function costs(
  results: readonly LoopsResult[],
  server: ServerReading,
): Partial<Record<FigureName, number>> {
  const total = (of: (result: LoopsResult) => number): number =>
    results.reduce((sum, result) => sum + of(result), 0);
  const all = total((result) => result.all);
  const commands = total((result) => result.commands);
  return {
    rate: total(({ counted, ms }) => (counted * 1000) / ms),
    'node cpu': total((result) => result.cpu) / all,
    'server cpu': server.cpu / all,
    'script time': server.scriptTime / all,
    'script calls': server.scripts / all,
    calls: server.calls / all,
    commands: commands / all,
    'inner calls': Math.max(0, server.calls - commands) / all,
    connections: server.connections,
  };
}

const fenced = (results: readonly LoopsResult[]): boolean => results.some(({ fence }) => fence);

function violations(results: readonly LoopsResult[]): number {
  const within = results.reduce((sum, result) => sum + result.violations, 0);
  const across = results.length > 1 ? overlaps(results.map(({ intervals }) => intervals)) : 0;
  return Math.max(within, across);
}

function alone(results: readonly LoopsResult[], server: ServerReading): Reading {
  return { figures: costs(results, server), fence: fenced(results) };
}

function together(
  results: readonly LoopsResult[],
  server: ServerReading,
  checked: readonly LoopsResult[],
  polite: boolean,
): Reading {
  const gaps = results.flatMap((result) => result.gaps);
  return {
    figures: {
      ...costs(results, server),
      'longest wait': Math.max(...results.map(({ longestWait }) => longestWait)),
      ...(polite ? { 'hand-off p50': percentile(gaps, 50) } : {}),
      ...(polite ? { 'hand-off p99': percentile(gaps, 99) } : {}),
    },
    tasks: results.flatMap(({ tasks }) => tasks),
    violations: violations(checked) + violations(results),
    fence: fenced(results),
    ...(polite ? { latencies: gaps } : {}),
  };
}
