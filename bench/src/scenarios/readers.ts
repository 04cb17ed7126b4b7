/**
 * Scenario j: the server's time for the release of one reader among many readers, against one among
 * few. The client's time is excluded, because it would hide a difference.
 */
import { Holdfast, type RwLease } from 'holdfast';
import type { Contender, Reading } from '../rounds.js';
import { readServer, since } from '../server-readings.js';
import type { Bench } from '../settings.js';
import { ratioTarget } from '../targets.js';
import { ours, type Variant } from '../variants.js';
import { connect, disconnect } from '../worker/clients.js';
import { mainClient, measureTable, type Scenario } from './scenario.js';

const FEW = 10;
const AT_ONCE = 1000;
const RELEASES = 200;
/** No renewal during the measurement. */
const OPTIONS = { ttl: 3_600_000, renew: false };

interface Shared {
  readonly bench: Bench;
  readonly holdfast: Holdfast;
}

/** Readers of one key; a new reader replaces each released one, outside the measurement. */
class Readers implements Contender {
  readonly variant: Variant;
  readonly at?: number;
  readonly against?: string;
  readonly #shared: Shared;
  readonly #count: number;

  constructor(shared: Shared, count: number, { sized }: { sized: boolean }) {
    const variant = ours(mainClient(shared.bench));
    this.#shared = shared;
    this.#count = count;
    this.variant = sized ? variant : { ...variant, name: nameOf(shared.bench, count) };
    if (sized) this.at = count;
    else this.against = nameOf(shared.bench, FEW);
  }

  async start(): Promise<void> {
    await this.#enter(this.#count - FEW / 2);
  }

  async measure(): Promise<Reading> {
    const { target } = this.#shared.bench;
    let spent = 0;
    for (let remaining = RELEASES; remaining > 0; remaining -= FEW / 2) {
      const leases = await this.#enter(FEW / 2);
      const before = await readServer(target);
      for (const lease of leases) await lease.release();
      spent += since(before, await readServer(target)).scriptTime;
    }
    return { figures: { release: spent / RELEASES } };
  }

  async close(): Promise<void> {
    await this.#shared.holdfast.forceRelease(this.#key);
  }

  get #key(): string {
    return `readers:${this.#count}`;
  }

  async #enter(count: number): Promise<RwLease[]> {
    const { read } = this.#shared.holdfast.rwLock(this.#key);
    const leases: RwLease[] = [];
    for (let at = 0; at < count; at += AT_ONCE) {
      const batch = Math.min(AT_ONCE, count - at);
      leases.push(...(await Promise.all(Array.from({ length: batch }, () => read.acquire()))));
    }
    return leases;
  }
}

const nameOf = (bench: Bench, count: number): string =>
  `${ours(mainClient(bench)).name}, among ${count}`;

async function withHoldfast(bench: Bench, work: (shared: Shared) => Promise<void>): Promise<void> {
  const connected = await connect(mainClient(bench), bench.target.port);
  const holdfast = new Holdfast(connected.client, OPTIONS);
  try {
    await work({ bench, holdfast });
  } finally {
    await holdfast.close({ grace: 0 });
    disconnect(connected);
  }
}

export const j: Scenario = (bench, add) =>
  withHoldfast(bench, async (shared) => {
    const { readers } = bench.sizes;
    const contenders = [FEW, readers].map((count) => new Readers(shared, count, { sized: false }));
    add(
      await measureTable(bench, {
        ...{ scenario: 'j', title: `Release of a reader among ${readers} readers` },
        ...{ main: 'release', placement: 'a core each', contenders },
        targets: (measured) => ratioTarget(measured, nameOf(bench, readers), { most: 1.2 }),
      }),
    );
  });

export const holders: Scenario = (bench, add) =>
  withHoldfast(bench, async (shared) => {
    const contenders = bench.sizes.sweeps.holders.map(
      (count) => new Readers(shared, count, { sized: true }),
    );
    add(
      await measureTable(bench, {
        ...{ scenario: 'holders', title: 'Release of a reader among as many readers' },
        ...{ main: 'release', placement: 'a core each', contenders },
      }),
    );
  });
