/**
 * One acquisition of a simulated process, from the call to its end.
 *
 *     asking --granted--> held --released, or known to be lost--> over
 *        \--refused, failed--> over
 */
import type { TaskPlan } from '../plan/plan.js';
import type { Client } from '../world/client.js';

/**
 * What an attempt has; an `id` that is only a process's stands for its lease
 * with this fence.
 */
export interface Held {
  readonly key: string;
  readonly id: string;
  readonly fence: number;
  /** Whether its process believes in it. */
  readonly held: boolean | (() => boolean);
}

export class Attempt {
  readonly task: TaskPlan;
  readonly client: Client;
  lease: Held | undefined;
  /** How much its process believes to have, where that may change. */
  weight: (() => number) | undefined;
  /** When it wanted nothing any more. */
  overAt: number = Number.POSITIVE_INFINITY;
  /** When it was asked for. */
  readonly askedAt: number;
  lost = false;
  /** Its place in the store's queue, as it was last told. */
  ticket = 0;
  /** It was never given back: what it has ends by itself. */
  abandoned = false;

  constructor(task: TaskPlan, client: Client) {
    this.task = task;
    this.client = client;
    this.askedAt = client.process.time;
  }

  get name(): string {
    return this.task.name;
  }

  get over(): boolean {
    return this.overAt !== Number.POSITIVE_INFINITY;
  }
}
