/** The processes of a load. */
import { spawnWorker, type Worker } from 'holdfast-testkit';
import type { Answer, Given, Order } from './orders.js';
import { answerOf, end, ready } from '../team.js';
import type { Site } from './sites.js';

const START_MS = 300_000;
const ORDER_MS = 600_000;

export interface TeamSettings {
  readonly processes?: number;
  /** In all processes. */
  readonly instances?: number;
  readonly shared?: boolean;
  readonly ttl?: number;
}

export class Team implements AsyncDisposable {
  readonly #workers: readonly Worker[];

  private constructor(workers: readonly Worker[]) {
    this.#workers = workers;
  }

  static async start({ address }: Site, settings: TeamSettings = {}): Promise<Team> {
    const { processes = 1, instances = processes, shared = false, ttl = 10_000 } = settings;
    const file = new URL('./worker.js', import.meta.url);
    const workers = Array.from({ length: processes }, (_, place) => {
      const share = Math.floor(instances / processes) + (place < instances % processes ? 1 : 0);
      const given: Given = { address, ttl, instances: share, shared, place };
      const env = { NODE_NO_WARNINGS: '1' };
      return spawnWorker(file, { args: [JSON.stringify(given)], env });
    });
    await ready(workers, START_MS);
    return new Team(workers);
  }

  /** All processes do it at the same time; the sum of what they answer. */
  async ask(order: Order): Promise<Answer> {
    const asked = this.#workers.map((worker) => answerOf(worker, order, ORDER_MS));
    const answers = (await Promise.all(asked)) as Answer[];
    const sum = (name: keyof Answer): number => answers.reduce((all, one) => all + one[name], 0);
    return {
      ms: Math.max(...answers.map(({ ms }) => ms)),
      ...{ cpu: sum('cpu'), heap: sum('heap'), done: sum('done') },
      ...{ renewals: sum('renewals'), polls: sum('polls'), held: sum('held') },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await end(this.#workers);
  }
}
