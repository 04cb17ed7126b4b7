/**
 * Many leases in doubt: the wall clock of the process is set forward. They are verified with one
 * command for up to 500, so none is lost to a queue of requests.
 */
import { describe, expect, it } from 'vitest';
import type { Command, Reply } from '../../../src/engine/commands.js';
import { Holdfast, type Lease } from '../../../src/index.js';
import { settle, VirtualClock } from '../../support/virtual-clock.js';
import { WatchedStore } from '../../support/watched-store.js';

/** Ms of a call, and of each further lease in it, as measured on a loaded machine. */
const CALL_MS = 0.1;
const LEASE_MS = 0.003;

/** A server that executes one call after the other, and needs some time for each. */
class BusyStore extends WatchedStore {
  readonly #clock: VirtualClock;
  #freeAt = 0;
  /** The work of the server in ms. */
  worked = 0;
  busy = false;

  constructor(clock: VirtualClock) {
    super(clock);
    this.#clock = clock;
  }

  override execute(batch: readonly Command[]): Promise<Reply>[] {
    if (!this.busy) return super.execute(batch);
    return batch.map((command) => {
      const leases = command.op === 'renewMany' ? command.ids.length : 1;
      const takes = CALL_MS + LEASE_MS * leases;
      this.worked += takes;
      this.#freeAt = Math.max(this.#freeAt, this.#clock.now()) + takes;
      return new Promise((resolve) => {
        const execute = (): void => resolve(super.execute([command])[0] as Promise<Reply>);
        this.#clock.after(this.#freeAt - this.#clock.now(), execute, true);
      });
    });
  }
}

async function held(
  count: number,
  options: { readonly renew: boolean },
): Promise<{ leases: Lease[]; store: BusyStore; clock: VirtualClock }> {
  const clock = new VirtualClock();
  const store = new BusyStore(clock);
  const holdfast = new Holdfast(store, { clock, ttl: 2000 });
  const leases = await Promise.all(
    Array.from({ length: count }, (_, at) => holdfast.mutex(`k${at}`).acquire(options)),
  );
  store.batches.length = 0;
  store.busy = true;
  return { leases, store, clock };
}

describe('a step of the wall clock by 2 s', () => {
  it('costs 20,000 leases one command for each 500, and no lease', async () => {
    const { leases, store, clock } = await held(20_000, { renew: true });
    clock.sleep(2000);
    expect(leases[0]?.held).toBe(false);
    await settle();
    await clock.advance(200);
    const sent = store.batches.flat();
    expect(sent.map(({ op }) => op)).toEqual(Array(40).fill('renewMany'));
    expect(sent.every((command) => 'ttl' in command && command.ttl === 0)).toBe(true);
    expect(leases.filter((lease) => !lease.held)).toEqual([]);
    await clock.advance(3000);
    expect(leases.filter(({ state }) => state !== 'held')).toEqual([]);
  });

  it('loses no lease that is not renewed, and extends none', async () => {
    const { leases, store, clock } = await held(3000, { renew: false });
    await clock.advance(1000);
    clock.sleep(2000);
    const before = leases[0]?.held;
    await settle();
    await clock.advance(100);
    expect([before, leases.every((lease) => lease.held)]).toEqual([false, true]);
    const sent = store.batches.flat();
    expect(sent.filter(({ op }) => op === 'renewMany')).toHaveLength(6);
    // the others tell where the process listens, and extend nothing
    const telling = sent.filter(({ op }) => op !== 'renewMany');
    expect(telling.every((one) => one.op === 'renew' && one.ttl === 1)).toBe(true);
    await clock.advance(1000);
    expect(leases.filter((lease) => lease.held)).toEqual([]);
  });
});

describe('the answer to a verification', () => {
  it('counts also if it comes late', async () => {
    const { leases, store, clock } = await held(2, { renew: false });
    store.busy = false;
    // a third of the ttl is the limit of the first request
    let answers = 0;
    store.fate = () => ((answers += 1) <= 2 ? 900 : 'lost');
    clock.sleep(2000);
    expect(leases.map((lease) => lease.held)).toEqual([false, false]);
    await clock.advance(800);
    expect(leases.map(({ state }) => state)).toEqual(['doubted', 'doubted']);
    await clock.advance(150);
    expect(leases.map(({ state }) => state)).toEqual(['held', 'held']);
  });

  it('ends a lease that the store does not know', async () => {
    const { leases, store, clock } = await held(3, { renew: true });
    const force = { op: 'forceRelease', key: 'k1', id: '', retention: 1000 } as const;
    await Promise.all(store.inner.execute([force]));
    clock.sleep(2000);
    expect(leases[1]?.held).toBe(false);
    await clock.advance(300);
    expect(leases.map(({ state }) => state)).toEqual(['held', 'lost', 'held']);
  });
});
