/** Tasks that change a lease, hold several leases at once, or lead. */
import type {
  Holdfast,
  Lease,
  Leadership,
  MultiLease,
} from '../../../../../packages/holdfast/dist/index.js';
import type { TaskPlan } from '../../plan/plan.js';
import type { Client } from '../../world/client.js';
import { Part, REFUSALS } from './part.js';

type RwSide = ReturnType<Holdfast['rwLock']>['read'];

const CHANGES = [
  ...(['HOLDFAST_LOST', 'HOLDFAST_UNCERTAIN', 'HOLDFAST_REFUSED'] as const),
  // the server refuses commands for a while
  'HOLDFAST_UNREACHABLE',
];

type RwLease = Awaited<ReturnType<RwSide['acquire']>>;
type Move = NonNullable<TaskPlan['moves']>[number];

function weightOf({ mode }: RwLease, capacity: number): number {
  return mode === 'write' ? capacity : 1;
}

/**
 * A read-write lock whose holder changes sides. With an owner there is a second hold on the same
 * side until the first change, so the store may refuse that change.
 */
export class Shift extends Part {
  async perform(): Promise<void> {
    const { key, weight, moves = [], capacity, owner } = this.task;
    const lock = this.client.holdfast.rwLock(key, owner === undefined ? {} : { sharedBy: owner });
    const side = weight === 1 ? lock.read : lock.write;
    const lease = await side.acquire(this.options());
    this.holds(lease, () => weightOf(lease, capacity));
    let second = owner === undefined ? undefined : await this.#again(side);
    for (const [index, move] of moves.entries()) {
      await this.rest(this.#ms(index));
      await this.#change(lease, move);
      if (second !== undefined) await this.#release(second);
      second = undefined;
      if (lease.signal.aborted) break;
    }
    const to = this.heir(this.task.heir);
    if (to !== undefined && lease.held) this.#give(lease, to);
    else await this.#release(lease);
  }

  async #change(lease: RwLease, move: Move): Promise<void> {
    try {
      if (move === 'upgrade') await lease.tryUpgrade();
      if (move === 'downgrade') await lease.downgrade();
    } catch (error) {
      this.expect(error, CHANGES);
    }
  }

  /** The next process changes it too. */
  #give(lease: RwLease, to: Client): void {
    const { capacity, keeps = 0, moves = [] } = this.task;
    const work = async (adopted: RwLease): Promise<void> => {
      await to.process.sleep(keeps / 2);
      await this.#change(adopted, moves[0] ?? 'none');
      await to.process.sleep(keeps / 2);
    };
    this.handOver(lease, to, { work, weight: (adopted) => weightOf(adopted, capacity) });
  }

  /** The second hold has another label: only the first one is judged. */
  async #again(side: RwSide): Promise<Lease | undefined> {
    try {
      return await side.acquire({ ...this.options(), label: `${this.task.name} again` });
    } catch (error) {
      this.expect(error, REFUSALS);
      return undefined;
    }
  }

  #ms(index: number): number {
    const step = this.task.steps[index % this.task.steps.length];
    return step !== undefined && 'ms' in step ? step.ms : 1;
  }

  async #release(lease: Lease): Promise<void> {
    try {
      await lease.release();
    } catch (error) {
      this.expect(error, ['HOLDFAST_UNCERTAIN']);
    }
  }
}

/** Permits, and changes of the capacity. All tasks know the agreed capacity. */
export class Resize extends Part {
  async perform(): Promise<void> {
    const { key, capacity, permits: wanted } = this.task;
    const agreed = this.world.permits.get(key) ?? capacity;
    const semaphore = this.client.holdfast.semaphore(key, { permits: agreed });
    try {
      if (wanted === undefined) {
        await this.#take(semaphore);
        return;
      }
      // acquisitions during the change may see either capacity
      await semaphore.setPermits(wanted);
      this.world.permits.set(key, wanted);
    } catch (error) {
      const codes = wanted === undefined ? REFUSALS : CHANGES;
      this.expect(error, [
        ...codes,
        'HOLDFAST_MISMATCH',
        'HOLDFAST_CLOSED',
        'HOLDFAST_UNREACHABLE',
      ]);
    }
  }

  async #take(semaphore: ReturnType<typeof this.client.holdfast.semaphore>): Promise<void> {
    const count = Math.min(this.task.weight, semaphore.permits);
    const lease = await semaphore.acquire(count, this.options());
    this.holds(lease);
    this.sound(lease.permits === count);
    for (const step of this.task.steps) if ('ms' in step) await this.rest(step.ms);
    try {
      await lease.release();
    } catch (error) {
      this.expect(error, ['HOLDFAST_UNCERTAIN']);
    }
  }
}

/** Several keys at once. */
export class All extends Part {
  async perform(): Promise<void> {
    const { keys = [], how } = this.task;
    const all = this.client.holdfast.allOf(keys);
    if (how === 'run') {
      await all.run((lease) => this.#work(lease), this.options());
      return;
    }
    const asked = how === 'try' ? all.tryAcquire(this.options()) : all.acquire(this.options());
    const lease = await asked;
    if (lease === null) return;
    await this.#work(lease);
    try {
      await lease.release();
    } catch (error) {
      this.expect(error, ['HOLDFAST_UNCERTAIN']);
    }
  }

  async #work(lease: MultiLease): Promise<void> {
    const ends = [...lease.fences].map(([key, fence]) =>
      this.holdsToo(key, { id: this.prefix, fence, key, held: () => lease.held }),
    );
    this.world.grants += 1;
    for (const step of this.task.steps) {
      if ('ms' in step) await this.rest(step.ms);
      if (lease.signal.aborted) break;
      try {
        lease.assertHeld();
      } catch (error) {
        // a lease in doubt is not reported as held
        if (this.expect(error, ['HOLDFAST_LOST', 'HOLDFAST_UNCERTAIN']) === 'HOLDFAST_LOST') {
          this.unlost(lease.signal, 'is reported lost');
        }
      }
    }
    const { held, remaining } = lease;
    if (held) this.sound(remaining > 0);
    for (const end of ends) end();
  }
}

/** A leader: for one term, or for consecutive terms until it is stopped. */
export class Lead extends Part {
  async perform(): Promise<void> {
    const { key, ttl, how, name, wait } = this.task;
    const election = this.client.holdfast.election(key, { ttl, label: name });
    const signal = this.giveUp();
    if (how === 'run' && signal !== undefined) {
      await election.lead((leadership) => this.#lead(leadership, true), { signal });
      return;
    }
    const limit = wait === undefined ? {} : { wait };
    const leadership = await election.campaign({ ...limit, ...(signal && { signal }) });
    await this.#lead(leadership, false);
    try {
      await leadership.resign();
    } catch (error) {
      this.expect(error, ['HOLDFAST_UNCERTAIN']);
    }
  }

  /** The example of the page on elections: work while it leads. */
  async #lead(leadership: Leadership, serves: boolean): Promise<void> {
    const { id, term, key } = leadership;
    const end = this.holdsToo(key, { id, fence: term, key, held: () => leadership.leads });
    const until = this.client.process.now() + this.#length();
    // a doubt may end the work of `lead`: it starts again in the same term
    const goesOn = async (): Promise<boolean> => (serves ? leadership.leads : leadership.verify());
    while (await goesOn()) {
      if (!serves && this.client.process.now() >= until) break;
      await this.rest(Math.max(1, this.task.ttl / 7));
    }
    if (!(await leadership.verify())) this.unlost(leadership.signal, 'its loop has ended');
    end();
  }

  #length(): number {
    return this.task.steps.reduce((sum, step) => sum + ('ms' in step ? step.ms : 0), 0);
  }
}
