/** The processes of a load. */
import { spawnWorker, type Worker } from 'holdfast-testkit';
import type { Answer, Given, Order } from './orders.js';
import { answerOf, end, ready } from '../team.js';
import type { Site } from './sites.js';

const START_MS = 300_000;
const ORDER_MS = 600_000;
/** On a busy machine, the first requests of many instances need more than the usual limit. */
const TIMEOUT_MS = 20_000;

export interface TeamSettings {
  readonly processes?: number;
  /** In all processes. */
  readonly instances?: number;
  readonly shared?: boolean;
  readonly ttl?: number;
  readonly requestTimeout?: number;
  readonly counted?: boolean;
}

export class Team implements AsyncDisposable {
  readonly #workers: readonly Worker[];

  private constructor(workers: readonly Worker[]) {
    this.#workers = workers;
  }

  static async start({ address }: Site, settings: TeamSettings = {}): Promise<Team> {
    const { processes = 1, instances = processes, shared = false, ttl = 10_000 } = settings;
    const { counted = false, requestTimeout = TIMEOUT_MS } = settings;
    const file = new URL('./worker.js', import.meta.url);
    const workers = Array.from({ length: processes }, (_, place) => {
      const share = Math.floor(instances / processes) + (place < instances % processes ? 1 : 0);
      const own = { instances: share, place };
      const given: Given = { address, ttl, requestTimeout, shared, counted, ...own };
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
    const sum = (name: Exclude<keyof Answer, 'scripts'>): number =>
      answers.reduce((all, one) => all + one[name], 0);
    const scripts: Record<string, number> = {};
    for (const [sha, calls] of answers.flatMap((one) => Object.entries(one.scripts))) {
      scripts[sha] = (scripts[sha] ?? 0) + calls;
    }
    return {
      ms: Math.max(...answers.map(({ ms }) => ms)),
      ...{ cpu: sum('cpu'), heap: sum('heap'), done: sum('done') },
      ...{ renewals: sum('renewals'), polls: sum('polls'), held: sum('held') },
      ...{ commands: sum('commands'), scripts },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await end(this.#workers);
  }
}
