/**
 * Counts the work of code: how often the blocks of its functions are executed, as V8 counts them.
 * A test may compare two counts of the same code on any machine.
 */
import { Session } from 'node:inspector/promises';

export class WorkCounter {
  readonly #folder: string;
  readonly #session = new Session();

  /** @param folder a part of the path of the source files */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Starts to count. Code that was loaded before is counted too. */
  async start(): Promise<void> {
    this.#session.connect();
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** The executions of all blocks since the last call. */
  async take(): Promise<number> {
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    let work = 0;
    for (const { url, functions } of result) {
      if (!url.includes(this.#folder)) continue;
      for (const { ranges } of functions) for (const { count } of ranges) work += count;
    }
    return work;
  }

  async stop(): Promise<void> {
    await this.#session.post('Profiler.stopPreciseCoverage');
    await this.#session.post('Profiler.disable');
    this.#session.disconnect();
  }
}
