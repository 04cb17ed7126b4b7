/**
 * Groups of fair tasks: those that arrive in the same step of the program (until its promise jobs
 * have ended), for the same mutex and terms, ask the store as one root ([decision
 * 26](../../../../docs/decisions/0026-fair-groups.md)).
 *
 *     first task --no other fair task of the key waits or holds here--> asks at once
 *         \--gathers further tasks--> asks when the step ends, or before another request
 *                \--the last task of a root releases in this step--> the end of that root asks
 *
 * Groups of a key ask in the order in which they began, so the order in the store is that of the
 * calls. No task joins a group that has asked: another process may be behind it in the queue.
 */
import { afterStep } from '../base/clock.js';
import type { RootQueue } from './root-queue.js';

export class FairGroups {
  readonly #owing = new Set<RootQueue>();
  readonly #gathering = new Set<RootQueue>();
  readonly #ask: (group: RootQueue) => void;
  /** Something is to be sent at the end of the step. Only this class writes it. */
  ends = false;

  /** @param ask sends the request of a group, which may be empty by then */
  constructor(ask: (group: RootQueue) => void) {
    this.#ask = ask;
  }

  gather(group: RootQueue): void {
    this.#gathering.add(group);
    this.#endStep();
  }

  owes(queue: RootQueue): void {
    this.#owing.add(queue);
    this.#endStep();
  }

  askAlone(group: RootQueue): void {
    if (this.#gathering.delete(group)) this.#ask(group);
  }

  #endStep(): void {
    if (this.ends) return;
    this.ends = true;
    afterStep(() => {
      this.ends = false;
      this.askNow();
    });
  }

  has(group: RootQueue): boolean {
    return this.#gathering.has(group);
  }

  next(key: string): RootQueue | undefined {
    for (const group of this.#gathering) if (group.key === key) return group;
    return undefined;
  }

  askNow(key?: string): void {
    for (const queue of this.#owing) queue.withdraw();
    this.#owing.clear();
    for (const group of [...this.#gathering]) {
      if (key !== undefined && group.key !== key) continue;
      if (this.#gathering.delete(group)) this.#ask(group);
    }
  }
}
