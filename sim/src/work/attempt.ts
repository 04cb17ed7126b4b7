/**
 * One acquisition of a simulated process, from the call to its end.
 *
 *     asking --granted--> held --released, or known to be lost--> over
 *        \--refused, failed--> over
 */
import type { Lease } from '../../../packages/holdfast/dist/index.js';
import type { TaskPlan } from '../plan/plan.js';
import type { Client } from '../world/client.js';

export class Attempt {
  readonly task: TaskPlan;
  readonly client: Client;
  lease: Lease | undefined;
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
