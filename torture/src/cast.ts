/** The client processes: who they are now, and who follows whom that was killed. */
import { spawnWorker, type Worker } from 'holdfast-testkit';
import type { Random } from 'holdfast-trials/support/random';
import { CLIENTS, type ClientName, type Given } from './settings.js';
import { type Lane, note, type Stage } from './stage.js';

/** One of the processes, over the generations. */
export class Actor {
  readonly index: number;
  readonly lane: Lane;
  readonly client: ClientName;
  /** A fault is being done to it. */
  busy = false;
  worker!: Worker;
  name = '';
  #generation = 0;

  constructor(index: number, lane: Lane) {
    this.index = index;
    this.lane = lane;
    this.client = CLIENTS[index % 2] as ClientName;
  }

  async start(cast: Cast): Promise<void> {
    this.name = `p${this.index}${this.#generation === 0 ? '' : `.${this.#generation}`}`;
    this.#generation += 1;
    const { seed, tasks, fault, stage } = cast;
    const { url, resourceUrl, prefix } = this.lane;
    const given: Given = {
      ...{ name: this.name, url, resourceUrl, client: this.client },
      ...{ seed: seed * 100_000 + this.index * 1000 + this.#generation, tasks },
      ...{ folder: stage.folder, fault },
    };
    const file = new URL('../dist/worker/main.js', import.meta.url);
    this.worker = spawnWorker(file, { args: [JSON.stringify(given)], prefix });
    cast.names.set(this.name, this);
    await this.worker.next('ready', { within: 60_000 });
  }
}

interface About {
  readonly seed: number;
  readonly tasks: number;
  readonly fault: string | undefined;
  /** Longest time in ms to come back to work after the last fault, and then to an end. */
  readonly patience: number;
}

/** All of them. */
export class Cast {
  readonly actors: readonly Actor[];
  /** Of all generations. */
  readonly names: Map<string, Actor> = new Map();
  /** Processes that ended although the run had not killed them. */
  readonly problems: string[] = [];
  readonly stage: Stage;
  readonly seed: number;
  readonly tasks: number;
  readonly fault: string | undefined;
  readonly #patience: number;

  constructor(stage: Stage, about: About) {
    this.stage = stage;
    this.seed = about.seed;
    this.tasks = about.tasks;
    this.fault = about.fault;
    this.#patience = about.patience;
    this.actors = stage.lanes.map((lane, index) => new Actor(index, lane));
  }

  async start(): Promise<void> {
    await Promise.all(this.actors.map((actor) => actor.start(this)));
  }

  /** One that nothing is being done to, and for which `fits` holds. */
  free(random: Random, fits: (lane: Lane) => boolean): Actor | undefined {
    const free = this.actors.filter(({ busy, lane }) => !busy && fits(lane));
    return free[Math.floor(random() * free.length)];
  }

  async kill(actor: Actor): Promise<void> {
    actor.worker.kill();
    await actor.worker.exited;
    note(this.stage, { e: 'crash' }, { p: actor.name });
  }

  /** Every process is granted something when no more faults happen. */
  async recover(): Promise<void> {
    const recovered = async ({ worker, name }: Actor): Promise<void> => {
      try {
        await worker.send({ type: 'calm' });
        await worker.next('recovered', { within: this.#patience });
      } catch (error) {
        this.problems.push(`${name} did not recover: ${String(error)}`);
      }
    };
    await Promise.all(this.actors.map(recovered));
  }

  /** Every process finishes its work and exits. */
  async finish(): Promise<void> {
    const end = async ({ worker, name }: Actor): Promise<void> => {
      try {
        await worker.send({ type: 'finish' });
        await worker.next('finished', { within: this.#patience });
        const { code } = await worker.exited;
        if (code !== 0) this.problems.push(`${name} ended with ${code}`);
      } catch (error) {
        this.problems.push(`${name}: ${String(error)}`);
      }
    };
    await Promise.all(this.actors.map(end));
  }

  async close(): Promise<void> {
    const last = this.actors.filter(({ worker }) => worker !== undefined);
    await Promise.all(last.map(({ worker }) => worker[Symbol.asyncDispose]()));
  }
}
