/** A quorum whose servers have no memory left: they refuse what grows, and renew what they have. */
import { expect, it } from 'vitest';
import { Holdfast } from '../../../src/index.js';
import type { Proposal, Vote } from '../../../src/store/quorum/acceptor.js';
import { MemoryAcceptor } from '../../../src/store/quorum/memory-acceptor.js';
import { QuorumStore } from '../../../src/store/quorum/quorum-store.js';
import { VirtualClock } from '../../support/virtual-clock.js';
import { failure } from '../../suites/helpers.js';

let full = false;

class Server extends MemoryAcceptor {
  override async accept(key: string, proposal: Proposal): Promise<Vote> {
    if (full && proposal.grows) throw new Error('OOM command not allowed');
    return super.accept(key, proposal);
  }
}

it('leases are renewed and released, also if their times have more digits', async () => {
  full = false;
  const clock = new VirtualClock();
  const servers = [0, 1, 2].map((at) => new Server(`s${at}`, clock, 3_600_000));
  const terms = { timeout: 100, guard: 0, durable: true };
  const store = new QuorumStore({ acceptors: () => servers, clock, ...terms });
  const holdfast = new Holdfast(store, { clock });
  const lease = await clock.until(holdfast.mutex('held').acquire({ ttl: 100 }));
  full = true;
  for (const ms of [2000, 30_000, 400_000, 5_000_000]) await clock.until(lease.extend(ms));
  await failure(clock.until(holdfast.mutex('new').acquire()), 'HOLDFAST_UNREACHABLE');
  expect(await clock.until(lease.release())).toBe('freed');
});
