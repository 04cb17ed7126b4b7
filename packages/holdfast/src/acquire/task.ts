/**
 * One call of this process that waits for a root, see `root-queue.ts`. Its wait limit and its abort
 * signal end only this call; the root goes on while another task waits.
 */
import type { AcquireRequest } from './call.js';
import { Call } from './call.js';
import type { Place } from './failures.js';
import type { RootQueue } from './root-queue.js';

export class Task extends Call {
  queue: RootQueue;
  /** When the call began, on the local clock: it decides the place of the root. */
  readonly arrived: number;

  constructor(request: AcquireRequest, queue: RootQueue, now: number) {
    super(request);
    this.queue = queue;
    this.arrived = now;
  }

  /** True if the store has answered for its root, or another task of this process holds. */
  get heard(): boolean {
    return this.queue.heard;
  }

  /** See `Acquisition.unsent`. */
  get unsent(): boolean {
    return this.queue.entry?.unsent === true;
  }

  get place(): Place {
    const { entry, root } = this.queue;
    return { ticket: entry?.ticket ?? 0, before: this.queue.before(this), holder: root?.hold };
  }

  /** See `Acquisition.trouble`. */
  get trouble(): unknown {
    return this.queue.entry?.trouble;
  }
}
