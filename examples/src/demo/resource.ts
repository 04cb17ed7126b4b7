/**
 * The resource that the lock protects. It is independent of the lock: it counts overlapping visits
 * itself, and refuses a write with a fence below the highest fence that it has seen.
 */

/** The resource as a worker calls it. The worker awaits each call before it continues. */
export interface Access {
  enter(): Promise<void>;
  leave(): Promise<void>;
  /** Resolves to the highest fence seen. The write was refused if its own fence is lower. */
  write(fence: number): Promise<number>;
}

export class Resource {
  /** The number of visits that began while another worker was inside. */
  overlaps = 0;
  /** The number of visits. */
  visits = 0;
  readonly #inside = new Set<string>();
  readonly #refuses: boolean;
  #highest = 0;

  /** @param refuses false disables the fence check, to show that the demo detects this */
  constructor(refuses = true) {
    this.#refuses = refuses;
  }

  /** The resource for one worker. */
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
