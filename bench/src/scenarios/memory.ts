/** Scenario i: the memory of a lock that is held, in the server and in the process. */
import { TeamContender } from '../contenders.js';
import type { Reading } from '../rounds.js';
import { figureTarget } from '../targets.js';
import { bare, ours } from '../variants.js';
import { mainClient, measureTable, others, type Scenario } from './scenario.js';

/** Draws of keys for the size of a key. */
const SAMPLE = 50;

class Holding extends TeamContender {
  /** No renewal during the measurement. */
  override async start(): Promise<void> {
    await super.start();
    // the first use of a script, and of the connection's buffers, is not counted
    await this.team.ask({ do: 'hold', locks: 10 }, this.limit);
    await this.team.ask({ do: 'drop' }, this.limit);
  }

  async measure(): Promise<Reading> {
    const { locks } = this.bench.sizes;
    await this.bench.target.command('FLUSHALL');
    const before = await this.#used();
    const [result] = await this.team.ask({ do: 'hold', locks }, this.limit);
    const after = await this.#used();
    const keyBytes = await this.#keyBytes();
    await this.team.ask({ do: 'drop' }, this.limit);
    return {
      figures: {
        'key bytes': keyBytes,
        'server bytes': (after - before) / locks,
        'node bytes': result?.heap ?? Number.NaN,
      },
    };
  }

  /** The mean of `MEMORY USAGE` of some keys: without the expiry and the tables of the server. */
  async #keyBytes(): Promise<number> {
    const { target } = this.bench;
    const names = new Set<string>();
    for (let index = 0; index < SAMPLE; index++) {
      names.add(String(await target.command('RANDOMKEY')));
    }
    const sizes = await Promise.all(
      [...names].map(async (name) => Number(await target.command('MEMORY', 'USAGE', name))),
    );
    return sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
  }

  async #used(): Promise<number> {
    const info = String(await this.bench.target.command('INFO', 'memory'));
    return Number(/^used_memory:(\d+)/m.exec(info)?.[1]);
  }
}

export const i: Scenario = async (bench, add) => {
  const client = mainClient(bench);
  const variants = [bare(client), ours(client), ...others(bench)];
  const against = bare(client).name;
  const contenders = variants.map((variant) =>
    Object.assign(new Holding(bench, variant, { ttl: 3_600_000 }), { against }),
  );
  add(
    await measureTable(bench, {
      ...{ scenario: 'i', title: `Memory of a held lock, mean of ${bench.sizes.locks}` },
      ...{ main: 'key bytes', placement: 'a core each', contenders },
      targets: (measured) => [
        ...figureTarget(measured, ours(client).name, 'key bytes', { most: 200 }),
        ...figureTarget(measured, ours(client).name, 'node bytes', { most: 1536 }),
      ],
    }),
  );
};
