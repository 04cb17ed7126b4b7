/**
 * What the lock protects. It knows nothing of the lock: it looks by itself whether two are inside
 * at once, and it refuses a write whose fence is lower than one that it has seen.
 */

/** What a worker can do with the resource. Each step is answered before the worker goes on. */
export interface Access {
  enter(): Promise<void>;
  leave(): Promise<void>;
  /** Resolves to the highest fence seen; the write was refused if its own is lower. */
  write(fence: number): Promise<number>;
}

export class Resource {
  /** How often somebody came in while another was inside. */
  overlaps = 0;
  /** How often somebody came in. */
  visits = 0;
  readonly #inside = new Set<string>();
  readonly #refuses: boolean;
  #highest = 0;

  /** @param refuses false breaks it, to show that the demo would notice */
  constructor(refuses = true) {
    this.#refuses = refuses;
  }

  /** The resource as one worker sees it. */
  access(worker: string): Access {
    return {
      enter: async () => {
        this.visits += 1;
        if (this.#inside.size > 0) this.overlaps += 1;
        this.#inside.add(worker);
      },
      leave: async () => {
        this.#inside.delete(worker);
      },
      write: async (fence) => this.#write(fence),
    };
  }

  #write(fence: number): number {
    if (!this.#refuses) return fence;
    this.#highest = Math.max(this.#highest, fence);
    return this.#highest;
  }
}
