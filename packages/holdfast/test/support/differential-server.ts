/** The server of a differential test, its drivers, and the search for a planted fault. */
import fc from 'fast-check';
import { paced, type Server, type ServerName, startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { expect } from 'vitest';

/** `HOLDFAST_SEED` repeats a run. */
export const SEED = Number(process.env['HOLDFAST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** Sequences before the examples of rare ones. */
const FIRST_RUNS = 40;

/** A planted fault may make a script endless, which is a difference too. */
const ENDS_MS = 3000;

/** Drives the engine and the scripts; throws at the first difference. */
interface Driver<S> {
  readonly operations: number;
  /** Subscribes to the live channels. */
  listen(subscriber: Redis): Promise<void>;
  run(steps: S): Promise<void>;
}

/** The texts of scripts by file, which replace the real ones. */
type Replaced = Record<string, string>;

export class DifferentialServer<S, D extends Driver<S>> {
  readonly #make: (redis: Redis, replace: Replaced) => Promise<D>;
  #server!: Server;
  #redis!: Redis;
  #name: ServerName = 'redis';

  /** @param make a driver, whose scripts are loaded */
  constructor(make: (redis: Redis, replace: Replaced) => Promise<D>) {
    this.#make = make;
  }

  get version(): string {
    return this.#server.version;
  }

  async start(name: ServerName): Promise<void> {
    this.#name = name;
    this.#server = await startServer({ server: name });
    this.#redis = new Redis(this.#server.port, this.#server.host);
  }

  async stop(): Promise<void> {
    this.#redis.disconnect();
    await this.#server.stop();
  }

  /** Rejects if a script does not end. Then another server takes the place of this one. */
  async #ending(work: Promise<void>, limit: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const endless = new Promise<'endless'>((resolve) => {
      timer = setTimeout(resolve, paced(limit), 'endless');
    });
    const ended = await Promise.race([work, endless]);
    clearTimeout(timer);
    if (ended !== 'endless') return;
    work.catch(() => undefined);
    this.#redis.disconnect();
    await this.#server.kill();
    await this.start(this.#name);
    throw new Error('the user_script does not end');
  }

  async using(replace: Replaced, work: (differential: D) => Promise<void>): Promise<void> {
    const differential = await this.#make(this.#redis, replace);
    const subscriber = this.#redis.duplicate();
    try {
      await differential.listen(subscriber);
      await work(differential);
    } finally {
      subscriber.disconnect();
    }
  }

  /**
   * A planted fault is found.
   * @param runs the sequences after which it counts as missed
   * @param likely tried first
   * @param limit a sequence that lasts longer has a script that does not end, in ms
   */
  async finds(
    replace: Replaced,
    traffic: fc.Arbitrary<S>,
    runs: number,
    examples: readonly S[] = [],
    likely: readonly S[] = [],
    limit = ENDS_MS,
  ): Promise<void> {
    await this.using(replace, async (differential) => {
      const search = (numRuns: number, given: readonly S[]): Promise<fc.RunDetails<[S]>> =>
        fc.check(
          fc.asyncProperty(traffic, (steps) => this.#ending(differential.run(steps), limit)),
          { seed: SEED, numRuns, endOnFailure: true, examples: given.map((steps): [S] => [steps]) },
        );
      // some random sequences find most faults, and all examples take longer
      let details = await search(FIRST_RUNS, likely);
      if (!details.failed) details = await search(runs, examples);
      expect(details.failed, `${differential.operations} operations, all equal`).toBe(true);
      // another error does not count as a detected difference
      expect(String(details.errorInstance)).toMatch(/TypeScript|user_script|UnreadableRecord/);
    });
  }
}
