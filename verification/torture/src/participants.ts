/** The client processes of a run. A killed process is replaced by a new one. */
import { paced, spawnWorker, until, type Worker } from 'holdfast-testkit';
import type { Random } from 'holdfast-trials/support/random';
import { clientOf, type ClientName, type WorkerSettings } from './settings.js';
import { type Route, note, type Scenario } from './scenario.js';

/** One client process and the processes that replace it after a kill. */
export class Participant {
  readonly index: number;
  readonly route: Route;
  readonly client: ClientName;
  /** A fault is active on it. */
  busy = false;
  worker!: Worker;
  name = '';
  #generation = 0;

  constructor(index: number, route: Route, client: ClientName) {
    this.index = index;
    this.route = route;
    this.client = client;
  }

  async start(participants: Participants): Promise<void> {
    this.name = `p${this.index}${this.#generation === 0 ? '' : `.${this.#generation}`}`;
    this.#generation += 1;
    const { seed, tasks, fault, scenario } = participants;
    const { urls, resourceUrl, prefix, env = {} } = this.route;
    const given: WorkerSettings = {
      ...{ name: this.name, store: scenario.store, urls, resourceUrl, client: this.client },
      ...{ seed: seed * 100_000 + this.index * 1000 + this.#generation, tasks },
      ...{ folder: scenario.folder, fault, forgets: scenario.forgets },
    };
    const file = new URL('../dist/worker/main.js', import.meta.url);
    this.worker = spawnWorker(file, { args: [JSON.stringify(given)], prefix, env });
    participants.names.set(this.name, this);
    this.#watch(participants);
    await this.worker.next('ready', { within: 60_000 });
  }

  /** A process that the run does not kill must not end before it is told to. */
  #watch(participants: Participants): void {
    const { name, worker } = this;
    void worker.exited.then(({ code, signal }) => {
      if (signal === 'SIGKILL' || participants.over) return;
      participants.problems.push(`${name} ended by itself (${signal ?? code}): ${worker.output}`);
    });
  }
}

interface ParticipantsOptions {
  readonly seed: number;
  readonly tasks: number;
  readonly fault: string | undefined;
  /** Longest time in ms to recover after the last fault; the same limit holds for finishing. */
  readonly patience: number;
}

/** All participants of a run. */
export class Participants {
  readonly all: readonly Participant[];
  /** By process name; names of killed processes stay. */
  readonly names: Map<string, Participant> = new Map();
  /** Processes that did not recover or finish, or ended although the run did not kill them. */
  readonly problems: string[] = [];
  /** The processes may end. */
  over = false;
  readonly scenario: Scenario;
  readonly seed: number;
  readonly tasks: number;
  readonly fault: string | undefined;
  readonly #patience: number;

  constructor(scenario: Scenario, options: ParticipantsOptions) {
    this.scenario = scenario;
    this.seed = options.seed;
    this.tasks = options.tasks;
    this.fault = options.fault;
    this.#patience = options.patience;
    this.all = scenario.routes.map((route, index) => {
      return new Participant(index, route, clientOf(scenario.store, index));
    });
  }

  async start(): Promise<void> {
    await Promise.all(this.all.map((participant) => participant.start(this)));
  }

  /** A random participant that has no active fault and a route for which `fits` is true. */
  free(random: Random, fits: (route: Route) => boolean): Participant | undefined {
    const free = this.all.filter(({ busy, route }) => !busy && fits(route));
    return free[Math.floor(random() * free.length)];
  }

  /** Waits until no process has a fault, and keeps them from the next one. */
  async claim(): Promise<readonly Participant[]> {
    const open = new Set(this.all);
    const isLast = (): boolean => {
      for (const one of open) {
        if (one.busy) continue;
        one.busy = true;
        open.delete(one);
      }
      return open.size === 0;
    };
    // a fault of a process lasts longer on a busy machine
    await until(isLast, { within: paced(60_000) });
    return this.all;
  }

  async kill(participant: Participant): Promise<void> {
    participant.worker.kill();
    await participant.worker.exited;
    note(this.scenario, { e: 'crash' }, { p: participant.name });
  }

  /** Waits until every process was granted a lease after the last fault. */
  async recover(): Promise<void> {
    const recovered = async ({ worker, name }: Participant): Promise<void> => {
      try {
        await worker.send({ type: 'calm' });
        await worker.next('recovered', { within: this.#patience });
      } catch (error) {
        this.problems.push(`${name} got no lease after the faults: ${String(error)}`);
      }
    };
    await Promise.all(this.all.map(recovered));
  }

  /** Tells every process to finish, and waits until it exits. */
  async finish(): Promise<void> {
    this.over = true;
    const end = async ({ worker, name }: Participant): Promise<void> => {
      try {
        await worker.send({ type: 'finish' });
        await worker.next('finished', { within: this.#patience });
        const { code } = await worker.exited;
        if (code !== 0) this.problems.push(`${name} exited with code ${code}`);
      } catch (error) {
        this.problems.push(`${name} did not finish: ${String(error)}`);
      }
    };
    await Promise.all(this.all.map(end));
  }

  async close(): Promise<void> {
    const started = this.all.filter(({ worker }) => worker !== undefined);
    await Promise.all(started.map(({ worker }) => worker[Symbol.asyncDispose]()));
  }
}
