/** The worker processes of one variant. */
import { spawnWorker, type Worker } from 'holdfast-testkit';
import type { Order, Orders } from './orders.js';
import type { Bench } from './settings.js';
import type { Variant } from './variants.js';
import type { Given } from './worker/library.js';

const START_MS = 60_000;
const TTL = 10_000;

/** Settings of the locks of a team. */
export interface TeamOptions {
  readonly processes?: number;
  readonly ttl?: number;
  readonly renew?: boolean;
}

export class Team implements AsyncDisposable {
  readonly workers: readonly Worker[];

  private constructor(workers: readonly Worker[]) {
    this.workers = workers;
  }

  static async start(bench: Bench, variant: Variant, options: TeamOptions = {}): Promise<Team> {
    const { processes = 1, ttl = TTL, renew = true } = options;
    const { port } = bench.target;
    const given: Given = { variant, port, ttl, renew, peersFolder: bench.peersFolder };
    const file = new URL('./worker/main.js', import.meta.url);
    const env = { NODE_NO_WARNINGS: '1' };
    const workers = Array.from({ length: processes }, () =>
      spawnWorker(file, { args: [JSON.stringify(given)], env }),
    );
    await ready(workers, START_MS);
    return new Team(workers);
  }

  /** All workers do the same at the same time. Rejects if one fails or exceeds `within` ms. */
  ask<O extends Order>(order: O, within: number): Promise<Orders[O['do']]['result'][]> {
    return Promise.all(this.workers.map((worker) => askOne(worker, order, within)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await end(this.workers);
  }
}

/** Rejects, and ends all workers, if one is not ready within so many ms. */
export async function ready(workers: readonly Worker[], within: number): Promise<void> {
  try {
    await Promise.all(workers.map((worker) => worker.next('ready', { within })));
  } catch (error) {
    await end(workers);
    throw error;
  }
}

export async function end(workers: readonly Worker[]): Promise<void> {
  await Promise.all(workers.map((worker) => worker[Symbol.asyncDispose]()));
}

let orders = 0;

/** One worker does it. Rejects if it fails or exceeds `within` ms. */
export async function askOne<O extends Order>(
  worker: Worker,
  order: O,
  within: number,
): Promise<Orders[O['do']]['result']> {
  return (await answerOf(worker, order, within)) as Orders[O['do']]['result'];
}

/** What a worker answers to an order. */
export async function answerOf(
  worker: Worker,
  order: { readonly do: string },
  within: number,
): Promise<unknown> {
  const id = `done ${orders++}`;
  worker.messages.length = 0;
  await worker.send({ type: 'order', order, id });
  const { result, reason } = await worker.next(id, { within }).catch((error: Error) => {
    const text = error.message.replace(`no message ${id}`, `no answer to ${order.do}`);
    throw new Error(text, { cause: error });
  });
  if (typeof reason === 'string') throw new Error(`${order.do}: ${reason}`);
  return result;
}
