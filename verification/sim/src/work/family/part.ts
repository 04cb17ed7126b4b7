/**
 * Code that all parts of the family share: how they acquire, which errors they may get, and what is
 * noted of their leases. They write no history: a change of weight, or several leases at once, is
 * judged by the state of the store.
 */
import type { AcquireOptions } from '../../../../../packages/holdfast/dist/index.js';
import type { TaskPlan } from '../../plan/plan.js';
import type { Client } from '../../world/client.js';
import type { World } from '../../world/world.js';
import { Attempt, type Held } from '../attempt.js';

/** How an acquisition may end that gets nothing. */
export const REFUSALS: readonly string[] = [
  ...['HOLDFAST_TIMEOUT', 'HOLDFAST_ABORTED', 'HOLDFAST_REFUSED'],
  ...['HOLDFAST_UNREACHABLE', 'HOLDFAST_CLOSED'],
];

export class Part {
  readonly world: World;
  readonly attempt: Attempt;
  readonly task: TaskPlan;
  readonly client: Client;

  constructor(world: World, attempt: Attempt) {
    this.world = world;
    this.attempt = attempt;
    this.task = attempt.task;
    this.client = attempt.client;
  }

  /** What the acquisition is asked with. */
  options(): AcquireOptions {
    const { ttl, renew, fair, wait, name } = this.task;
    const signal = this.giveUp();
    const limit = wait === undefined ? {} : { wait };
    return { ttl, renew, fair, label: name, ...limit, ...(signal && { signal }) };
  }

  /** A signal that aborts when the task changes its mind. */
  giveUp(): AbortSignal | undefined {
    const { abort } = this.task;
    if (abort === undefined) return undefined;
    const controller = new AbortController();
    this.client.process.later(abort, () => controller.abort(new Error('changed its mind')));
    return controller.signal;
  }

  /** It has got what it asked for; `weight` says how much of it, if that may change. */
  holds(lease: Held, weight?: () => number): void {
    this.attempt.lease = lease;
    this.attempt.weight = weight;
    this.world.grants += 1;
    this.world.watch.believes(this.attempt);
    this.world.watch.visit(this.task.key);
  }

  /** It has something of another key as well; the caller says when that is over. */
  holdsToo(key: string, lease: Held): () => void {
    const too = new Attempt({ ...this.task, key }, this.client);
    too.lease = lease;
    this.world.watch.believes(too);
    this.world.watch.visit(key);
    return () => this.world.watch.over(too);
  }

  /** What the ids of its process begin with. */
  get prefix(): string {
    return `${this.client.name.replace('.', '-')}.`;
  }

  async rest(ms: number): Promise<void> {
    await this.client.process.sleep(ms);
  }

  /** An error is one that is documented; returns its code. */
  expect(error: unknown, codes: readonly string[]): string {
    const code = String((error as { code?: unknown } | null | undefined)?.code);
    if (!codes.includes(code)) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.world.report(
        code === 'undefined' ? 'untyped' : 'error',
        this.task.key,
        `${this.task.name}: ${text}`,
      );
    }
    if (code === 'HOLDFAST_TIMEOUT') this.blames(code);
    return code;
  }

  /** That another has the lock is said only if the store has said so. */
  blames(what: string): void {
    const { key, name } = this.task;
    if (this.client.store.answeredAt(key) >= this.attempt.askedAt) return;
    this.world.report('blames', key, `${name} ended with ${what}, and the store did not answer`);
  }

  /** A lease whose signal has not aborted is not said to be over. */
  unlost(signal: AbortSignal, what: string): void {
    if (signal.aborted) return;
    const { key, name } = this.task;
    this.world.report('unlost', key, `${name} has not lost its lease, and ${what}`);
  }
}
