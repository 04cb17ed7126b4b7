/** A register whose calls take effect after a delay, and are answered after another one. */
import { MemoryRegister } from '../../src/store/register/memory-register.js';
import type { Change, Swapped, Versioned } from '../../src/store/register/register.js';
import type { VirtualClock } from './virtual-clock.js';

export class DistantRegister extends MemoryRegister {
  calls = 0;
  overtaken = 0;
  readonly #clock: VirtualClock;
  readonly #delay: () => number;

  /** @param delay in ms; by default 0.5 */
  constructor(clock: VirtualClock, delay: () => number = () => 0.5) {
    super(clock);
    this.#clock = clock;
    this.#delay = delay;
  }

  override read(key: string): Promise<Versioned> {
    return this.#there(() => super.read(key));
  }

  override swap(key: string, version: string, change: Change): Promise<Swapped> {
    return this.#there(() => super.swap(key, version, change));
  }

  override overtake(key: string): Promise<Versioned> {
    this.overtaken += 1;
    return this.#there(() => super.overtake(key));
  }

  async #there<T>(call: () => Promise<T>): Promise<T> {
    this.calls += 1;
    await this.#away();
    const answer = await call();
    await this.#away();
    return answer;
  }

  #away(): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(this.#delay(), resolve));
  }
}
