/** The option `minValidity` of a quorum. */
import { expect, it } from 'vitest';
import type { Acquire, Reply } from '../../../src/engine/commands.js';
import { Holdfast, type Lease } from '../../../src/index.js';
import { MemoryAcceptor } from '../../../src/store/quorum/memory-acceptor.js';
import { QuorumStore } from '../../../src/store/quorum/quorum-store.js';
import { Link } from '../../support/lossy-link.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const TTL = 1000;
/** The time that servers take to accept a change, in ms. */
const SLOW = 90;

/** A way on which answers to `accept` are slow. */
class SlowLink extends Link {
  slow = 0;
  readonly #clock: VirtualClock;

  constructor(to: MemoryAcceptor, clock: VirtualClock) {
    super(to);
    this.#clock = clock;
  }

  override accept: Link['accept'] = async (key, proposal) => {
    const vote = await super.accept(key, proposal);
    if (this.slow > 0) {
      await new Promise<void>((resolve) => void this.#clock.after(this.slow, resolve));
    }
    return vote;
  };
}

async function tried(minValidity: number): Promise<[Lease | Error | null, boolean]> {
  const clock = new VirtualClock();
  const links = [0, 1, 2].map((at) => {
    return new SlowLink(new MemoryAcceptor(`s${at}`, clock, 3_600_000), clock);
  });
  const terms = { timeout: 100, guard: 60_000, durable: false, fraction: () => 0.5, minValidity };
  const store = new QuorumStore({ acceptors: () => links, clock, ...terms });
  const holdfast = new Holdfast(store, { clock, ttl: TTL });
  for (const link of links) link.slow = SLOW;
  const trying = holdfast
    .mutex('k')
    .tryAcquire()
    .catch((error: Error) => error);
  await clock.advance(SLOW + 10);
  for (const link of links) link.slow = 0;
  await clock.advance(300);
  const result = await trying;
  const inspecting = holdfast.inspect('k');
  await clock.advance(10);
  return [result, (await inspecting) === null];
}

it('gives a lease back whose validity is too short', async () => {
  const [result, isFree] = await tried(950);
  expect(result).toMatchObject({ code: 'HOLDFAST_UNREACHABLE' });
  expect((result as Error).message).toMatch(/would be valid for 8\d\d ms.*minValidity is 950 ms/);
  expect(isFree).toBe(true);
});

it('control: keeps a lease whose validity suffices', async () => {
  const [result, isFree] = await tried(800);
  expect(result).toMatchObject({ held: true });
  expect(isFree).toBe(false);
});

// hole 278: several answers may tell of one lease, and a task may have it by an earlier one
it('takes no lease away that another answer told of', async () => {
  const clock = new VirtualClock();
  const acceptors = [0, 1, 2].map((at) => new MemoryAcceptor(`s${at}`, clock, 3_600_000));
  const terms = { timeout: 100, guard: 60_000, durable: false, fraction: () => 0.5 };
  const parts = { acceptors: () => acceptors, clock, minValidity: 900, ...terms };
  const store = new QuorumStore(parts);
  const holdfast = new Holdfast(store, { clock, ttl: TTL });
  const lease = await clock.until(holdfast.mutex('k').acquire({ renew: false }));
  const again: Acquire = {
    ...{ op: 'acquire', key: 'k', id: lease.id, owner: '', weight: 1, kind: 'mutex', capacity: 1 },
    ...{ ttl: TTL, claim: TTL, fair: false, handOffs: 0, channel: '', token: '', queue: false },
    ...{ ticket: 0, waited: 0, tasks: 0, maxQueue: 1, patience: TTL, retention: TTL, meta: '' },
  };
  await clock.advance(200);
  const asking = store.execute([again])[0] as Promise<Reply>;
  await expect(clock.until(asking)).rejects.toThrow('minValidity is 900 ms');
  await clock.advance(20);
  expect(await clock.until(holdfast.inspect('k'))).not.toBe(null);
  expect(lease.held).toBe(true);
});
