/**
 * Acquisitions with random combinations of options, mixed in one process on one key. Bad input is
 * refused before a command is sent. Good input keeps the guarantees of the options.
 *
 * HOLDFAST_SEED repeats a run.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Command, Reply } from '../../src/engine/commands.js';
import { Holdfast, isHoldfastError, type Lease } from '../../src/index.js';
import { ACQUIRE, type Drawn, drawn, judged, MADE_WITH } from '../support/option-draws.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const SEED = Number(process.env['HOLDFAST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = 150;
const CLAIM_WINDOW = 1000;
/**
 * Ms by which the local deadline may be earlier: 1 % and 2 ms, and 1 % of the time since the
 * waiter's last reply, which is at most two claim windows ago.
 */
const drift = (ms: number): number => ms * 0.01 + 2 + 0.01 * 2 * CLAIM_WINDOW + 1;
/** The documented error codes of an acquisition with good options. */
const DOCUMENTED = ['HOLDFAST_TIMEOUT', 'HOLDFAST_ABORTED', 'HOLDFAST_REFUSED'];

type Step =
  | { readonly do: 'acquire'; readonly by: number; readonly drawn: Drawn; readonly tries: boolean }
  | { readonly do: 'release'; readonly pick: number }
  | { readonly do: 'wait'; readonly ms: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('acquire' as const),
        by: fc.nat(1),
        drawn: fc.oneof(drawn(ACQUIRE, 0), drawn(ACQUIRE, 0), drawn(ACQUIRE, 10)).map(judged),
        tries: fc.boolean(),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('release' as const), pick: fc.nat(20) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('wait' as const),
        ms: fc.constantFrom(1, 30, 200, 1500, 8000),
      }),
    },
  ),
  { minLength: 2, maxLength: 30 },
);

interface Held {
  readonly lease: Lease;
  readonly owner: string;
}

class Run {
  readonly clock = new VirtualClock();
  readonly store: WatchedStore;
  readonly #instances: readonly Holdfast[];
  readonly #held: Held[] = [];
  readonly #stop = new AbortController();
  readonly #pending: Promise<void>[] = [];
  readonly #problems: string[] = [];
  #fence = 0;
  #fenceOwner = '';
  #over = false;

  constructor(make: (clock: VirtualClock) => WatchedStore) {
    this.store = make(this.clock);
    const options = { clock: this.clock, claimWindow: CLAIM_WINDOW };
    this.#instances = [0, 1].map(() => new Holdfast(this.store, options));
  }

  async play(all: readonly Step[]): Promise<void> {
    for (const step of all) {
      if (step.do === 'acquire') await this.#acquire(step);
      else if (step.do === 'release') await this.#release(step.pick);
      else await this.clock.advance(step.ms);
      this.#oneHolder();
      if (this.#problems.length > 0) throw new Error(this.#problems.join('; '));
    }
    await this.#end();
    if (this.#problems.length > 0) throw new Error(this.#problems.join('; '));
  }

  async #acquire({ by, drawn: { options, bad }, tries }: Step & { do: 'acquire' }): Promise<void> {
    const mutex = (this.#instances[by] as Holdfast).mutex('k');
    const before = this.store.batches.length;
    const given = bad.includes('signal') ? options : { ...options, signal: this.#stop.signal };
    const call = tries ? mutex.tryAcquire(given) : mutex.acquire(given);
    const settled = call.then(
      (lease) => {
        if (bad.length > 0) this.#problems.push(`granted with a bad ${bad.join()}`);
        if (lease !== null) this.#granted(lease, options);
      },
      (error: unknown) => this.#rejected(error, bad),
    );
    this.#pending.push(settled);
    if (bad.length === 0) return this.clock.advance(0);
    await settled;
    const sent = this.store.batches.slice(before).flat();
    if (sent.some(({ op }) => op === 'acquire')) this.#problems.push('bad options were sent');
  }

  #rejected(error: unknown, bad: readonly string[]): void {
    if (!isHoldfastError(error)) this.#problems.push(`rejected with ${String(error)}`);
    else if (bad.length === 0) {
      if (!DOCUMENTED.includes(error.code)) this.#problems.push(`good input: ${error.message}`);
    } else if (error.code !== 'HOLDFAST_BAD_OPTION' || !bad.includes(error.option ?? '')) {
      this.#problems.push(`bad ${bad.join()}: ${error.message}`);
    } else if (!error.message.includes(`"${error.option}"`)) {
      this.#problems.push(`the option is not named: ${error.message}`);
    }
  }

  #granted(
    lease: Lease,
    { sharedBy: owner = '', renew, ttl = 10_000 }: Record<string, unknown>,
  ): void {
    const whole = Number(ttl) - drift(Number(ttl));
    if (renew === false && lease.remaining < whole) {
      this.#problems.push(`${lease.remaining} ms of ${Number(ttl)} without renewal`);
    }
    // An owner may join its last lease: one of its holds can outlast its `maxHold` in the store.
    const joined = owner !== '' && owner === this.#fenceOwner && lease.fence === this.#fence;
    if (!joined && lease.fence <= this.#fence) this.#problems.push('the fence did not grow');
    if (lease.fence > this.#fence) this.#fenceOwner = String(owner);
    this.#fence = Math.max(this.#fence, lease.fence);
    this.#held.push({ lease, owner: String(owner) });
    this.#oneHolder();
    if (this.#over) void lease.release().catch(() => undefined);
  }

  async #release(pick: number): Promise<void> {
    const [held] = this.#held.splice(pick % Math.max(1, this.#held.length), 1);
    const released = held?.lease.release().catch((error: unknown) => {
      this.#problems.push(`release: ${String(error)}`);
    });
    await this.clock.advance(0);
    await released;
  }

  #oneHolder(): void {
    const holders = this.#held.filter(({ lease }) => lease.held);
    const names = holders.map(({ owner, lease }) => (owner === '' ? lease.id : `of ${owner}`));
    if (new Set(names).size > 1) this.#problems.push(`${names.length} holders`);
  }

  async #end(): Promise<void> {
    this.#over = true;
    this.#stop.abort();
    while (this.#held.length > 0) await this.#release(0);
    await this.clock.advance(5000);
    await Promise.all(this.#pending);
    const info = await (this.#instances[0] as Holdfast).inspect('k');
    if (info !== null) this.#problems.push(`left: ${JSON.stringify(info)}`);
    await this.clock.advance(200_000);
    if (this.store.inner.size > 0) this.#problems.push('the store is not empty');
  }
}

/** A fault: a grant to a waiter lasts for a claim window, and is not renewed. */
class ShortGrants extends WatchedStore {
  override execute(batch: readonly Command[]): Promise<Reply>[] {
    const short = (one: Command): Command =>
      one.op === 'acquire' ? { ...one, claim: Math.min(one.claim, 50) } : one;
    return super.execute(batch.map(short));
  }
}

/** A fault: a release is not executed. */
class Keeping extends WatchedStore {
  override execute(batch: readonly Command[]): Promise<Reply>[] {
    const kept = (one: Command): Command =>
      one.op === 'release' ? { ...one, id: `not ${one.id}` } : one;
    return super.execute(batch.map(kept));
  }
}

describe('combinations of options', () => {
  it(`keep their guarantees (HOLDFAST_SEED=${SEED})`, async () => {
    const property = fc.asyncProperty(steps, (all) =>
      new Run((clock) => new WatchedStore(clock)).play(all),
    );
    await fc.assert(property, { seed: SEED, numRuns: RUNS });
  });

  it.each([
    ['a short grant', ShortGrants, /without renewal/u],
    ['a release that is lost', Keeping, /left:|release:|not empty|fence/u],
  ] as const)('the test detects: %s', async (_, Faulty, message) => {
    const property = fc.asyncProperty(steps, (all) =>
      new Run((clock) => new Faulty(clock)).play(all),
    );
    const details = await fc.check(property, { seed: SEED, numRuns: 2000, endOnFailure: true });
    expect(details.failed).toBe(true);
    expect(String(details.errorInstance)).toMatch(message);
  });
});

describe('constructors of primitives', () => {
  it.each(Object.entries(MADE_WITH))(
    '%s refuses bad options, and sends no command',
    (kind, ranges) => {
      const clock = new VirtualClock();
      const store = new WatchedStore(clock);
      const holdfast = new Holdfast(store, { clock }) as unknown as Record<
        string,
        (key: string, options: object) => unknown
      >;
      const property = fc.property(drawn(ranges, 10).map(judged), ({ options, bad }) => {
        let error: unknown;
        try {
          holdfast[kind]?.('k', options);
        } catch (thrown) {
          error = thrown;
        }
        expect(isHoldfastError(error, 'HOLDFAST_BAD_OPTION')).toBe(bad.length > 0);
        if (isHoldfastError(error)) expect(bad).toContain(error.option);
        expect(store.batches).toEqual([]);
      });
      fc.assert(property, { seed: SEED, numRuns: 500 });
    },
  );
});
