/**
 * Shared code of these tasks: how they acquire, which errors are allowed, and how their leases are
 * recorded. They write no history: the store's state is the check for a change of weight or for
 * several leases at once.
 */
import { mayBlame } from '../blame.js';
import type { AcquireOptions, Lease } from '../../../../../packages/holdfast/dist/index.js';
import type { TaskPlan } from '../../plan/plan.js';
import type { Client } from '../../world/client.js';
import type { World } from '../../world/world.js';
import { Attempt, type Held } from '../attempt.js';

/** The allowed outcomes of an acquisition without a grant. */
export const REFUSALS: readonly string[] = [
  ...['HOLDFAST_TIMEOUT', 'HOLDFAST_ABORTED', 'HOLDFAST_REFUSED'],
  ...['HOLDFAST_UNREACHABLE', 'HOLDFAST_CLOSED'],
];

/** `adopt` may reject with these: its instance may close meanwhile. */
const REFUSED = ['HOLDFAST_LOST', 'HOLDFAST_UNREACHABLE', 'HOLDFAST_CLOSED'] as const;

/** What the process that adopts a lease does with it, and its weight there, if that may change. */
interface Heir<T extends Lease> {
  work(lease: T): Promise<void>;
  weight?(lease: T): number;
}

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

  /** The options of the acquisition. */
  options(): AcquireOptions {
    const { ttl, renew, fair, wait, name } = this.task;
    const signal = this.giveUp();
    const limit = wait === undefined ? {} : { wait };
    return { ttl, renew, fair, label: name, ...limit, ...(signal && { signal }) };
  }

  /** A signal that aborts when the task cancels. */
  giveUp(): AbortSignal | undefined {
    const { abort } = this.task;
    if (abort === undefined) return undefined;
    const controller = new AbortController();
    this.client.process.later(abort, () => controller.abort(new Error('changed its mind')));
    return controller.signal;
  }

  /** The acquisition was granted; `weight` is the granted weight, if that may change. */
  holds(lease: Held, weight?: () => number): void {
    this.attempt.lease = lease;
    this.attempt.weight = weight;
    this.world.grants += 1;
    this.world.watch.believes(this.attempt);
    this.world.watch.visit(this.task.key);
  }

  /** Records a lease of another key as well; the caller marks its end. */
  holdsToo(key: string, lease: Held): () => void {
    const too = new Attempt({ ...this.task, key }, this.client);
    too.lease = lease;
    this.world.watch.believes(too);
    this.world.watch.visit(key);
    return () => this.world.watch.over(too);
  }

  /** The prefix of the ids of its process. */
  get prefix(): string {
    return `${this.client.name.replace('.', '-')}.`;
  }

  async rest(ms: number): Promise<void> {
    await this.client.process.sleep(ms);
  }

  /** The process that gets the lease, if it can take it. */
  heir(name: string | undefined): Client | undefined {
    const to = name === undefined ? undefined : this.world.clients.get(name);
    if (to === undefined || this.client.closing) return undefined;
    return to.process.alive && !to.closing ? to : undefined;
  }

  handOver<T extends Lease>(lease: T, to: Client, heir: Heir<T>): void {
    const { handOver } = this.world.library;
    this.world.watch.handedOver(lease.id);
    const text = handOver(this.client.holdfast, lease);
    to.process.deliver('task', () => void this.#adopt(text, to, heir));
  }

  async #adopt<T extends Lease>(text: string, to: Client, heir: Heir<T>): Promise<void> {
    const { watch, library } = this.world;
    const { key, name } = this.task;
    const next = new Attempt(this.task, to);
    try {
      const lease = await library.adopt<T>(to.holdfast, text, { label: name });
      next.lease = lease;
      next.weight = heir.weight && (() => heir.weight?.(lease) ?? 0);
      watch.believes(next);
      watch.visit(key);
      await heir.work(lease);
      watch.visit(key);
      await lease.release();
    } catch (error) {
      this.expect(error, ['HOLDFAST_UNCERTAIN', ...REFUSED]);
    }
    watch.over(next);
  }

  /** Asserts that an error is documented; returns its code. */
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

  /** Asserts that "another owner has the lock" is reported only after such a reply. */
  blames(what: string): void {
    const { key, name } = this.task;
    if (mayBlame(this.world, this.attempt)) return;
    this.world.report('blames', key, `${name} ended with ${what} without a reply of the store`);
  }

  /** Asserts that what a lease says of itself agrees. */
  sound(agrees: boolean): void {
    const { key, name } = this.task;
    if (!agrees) this.world.report('unsound', key, `the lease of ${name} contradicts itself`);
  }

  /** Asserts that a lease whose signal has not aborted is not reported as ended. */
  unlost(signal: AbortSignal, what: string): void {
    if (signal.aborted) return;
    const { key, name } = this.task;
    this.world.report('unlost', key, `${name} has not lost its lease, but ${what}`);
  }
}
