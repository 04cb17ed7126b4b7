/**
 * One acquisition of a simulated process, from the call to its end.
 *
 *     asking --granted--> held --released, or reported lost--> over
 *        \--refused, failed--> over
 */
import type { TaskPlan } from '../plan/plan.js';
import type { Client } from '../world/client.js';

/**
 * A lease of an attempt. An `id` without an acquisition names the process: its lease has this
 * fence.
 */
export interface Held {
  readonly key: string;
  readonly id: string;
  readonly fence: number;
  /** Whether its process believes that it holds the lease. */
  readonly held: boolean | (() => boolean);
}

export class Attempt {
  readonly task: TaskPlan;
  readonly client: Client;
  lease: Held | undefined;
  /** The weight that its process believes to hold, if that may change. */
  weight: (() => number) | undefined;
  /** The time at which it ended. */
  overAt: number = Number.POSITIVE_INFINITY;
  /** The time of the call. */
  readonly askedAt: number;
  lost = false;
  /** Its place in the store's queue, from the last reply. */
  ticket = 0;
  /** It was not released: its lease expires. */
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
