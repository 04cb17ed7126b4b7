/** Waiting for some time, or until something else comes first. */
import type { Clock } from '../clock.js';

/** Resolves after `ms`; earlier when `wake` is called. There is one pause at most at a time. */
export class Pause {
  readonly #clock: Clock;
  #end: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  for(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(ms, resolve);
      this.#end = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  /** Ends the pause, if there is one. */
  wake(): void {
    this.#end();
  }
}
