import type { Clock } from './clock.js';

/** `for` resolves after `ms`, or earlier by `wake`. One pause runs at a time. */
export class Pause {
  readonly #clock: Clock;
  #end: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param weak the pause does not keep the process alive */
  for(ms: number, weak = false): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(ms, resolve, weak);
      this.#end = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  wake(): void {
    this.#end();
  }
}
