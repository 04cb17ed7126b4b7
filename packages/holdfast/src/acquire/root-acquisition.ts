/**
 * The entry of a root in the queue of the store. It stands for all tasks of its `RootQueue`, and
 * the oldest of them gets the lease. Ending it ends all of them.
 */
import type { Queued } from '../engine/commands.js';
import type { LeaseObserver } from '../lease/lease-observer.js';
import type { LeaseRecord } from '../lease/lease-record.js';
import type { Moment } from '../lease/suspend-detector.js';
import { Acquisition } from './acquisition.js';
import type { AcquireRequest } from './call.js';
import type { RootQueue } from './root-queue.js';
import type { Task } from './task.js';

export class RootAcquisition extends Acquisition {
  readonly queue: RootQueue;
  /** See `Queued.ahead`; `''` if it is not known. */
  ahead = '';

  /**
   * True if no request for it is under way that could queue it again after a withdrawal: `ahead` of
   * a later entry would name it then, at a later place.
   */
  get isCertain(): boolean {
    return !this.asking && !this.mayBeDuplicated;
  }

  constructor(id: string, queue: RootQueue, now: Moment) {
    super(id, (queue.oldest as Task).request, now);
    this.queue = queue;
    queue.entry = this;
    queue.open = !queue.fair;
  }

  override get abandoned(): boolean {
    return this.queue.size === 0;
  }

  override get taker(): AcquireRequest {
    return this.queue.oldest?.request ?? this.request;
  }

  override get observer(): LeaseObserver {
    return this.queue;
  }

  override get tasks(): number {
    return this.queue.size;
  }

  override waited(now: number): number {
    return this.queue.waited(now);
  }

  override queued(reply: Queued): void {
    super.queued(reply);
    // a repeated request does not tell it again
    if (reply.ahead !== undefined) this.ahead = reply.ahead;
  }

  override moved(): void {
    this.queue.progress(undefined);
    this.queue.rejectOverdue();
  }

  override fault(error: unknown): void {
    this.trouble = error;
    this.queue.progress(error);
  }

  override isPatient(now: number, unreachableAfter: number): boolean {
    this.queue.rejectImpatient(this.heardAt, now, unreachableAfter);
    return this.queue.size > 0;
  }

  override tooLate(left: number): boolean {
    this.queue.rejectOverdue();
    return super.tooLate(left) || this.queue.size === 0;
  }

  override grant(record: LeaseRecord, first?: Promise<void>): void {
    if (!this.settle()) return;
    this.record = record;
    this.queue.granted(record, first);
    this.queue.rejectOverdue();
  }

  override fail(error: Error): void {
    if (this.settle()) this.queue.failed(error);
  }

  protected override settle(): boolean {
    if (!super.settle()) return false;
    this.queue.entry = undefined;
    return true;
  }
}
