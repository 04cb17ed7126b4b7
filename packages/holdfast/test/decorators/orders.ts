/**
 * Classes with locked methods, compiled with both kinds of decorators. `locked.test.ts` uses the
 * compiled files.
 */
import { assertLocked, currentLease, type Holdfast, type Lease, locked } from 'holdfast';

const find = (self: Orders): Holdfast => self.holdfast;

/** Called inside a locked method. */
type InsideLock = (lease: Lease | undefined) => Promise<unknown>;

export class Orders {
  readonly holdfast: Holdfast;
  readonly prefix = 'paid';

  constructor(holdfast: Holdfast) {
    this.holdfast = holdfast;
  }

  @locked(find, (id: string) => `order:${id}`)
  async pay(id: string, amount: number, inside: InsideLock): Promise<string> {
    await inside(currentLease());
    return `${this.prefix} ${id} ${amount}`;
  }

  @locked(find, 'order:{0.id}', { wait: 0 })
  async ship(order: { id: string }, inside: InsideLock): Promise<unknown> {
    return inside(currentLease(`order:${order.id}`));
  }

  @locked(find, 'order:{0}', { reentrant: true })
  async cancel(id: string, inside: InsideLock): Promise<unknown> {
    return this.refund(id, inside);
  }

  @locked(find, 'order:{0}', { reentrant: true, wait: 0 })
  async refund(id: string, inside: InsideLock): Promise<unknown> {
    return inside(assertLocked(`order:${id}`));
  }

  @locked(find, 'order:{0}', { ttl: 60, renew: false })
  async tooLong(_id: string, inside: InsideLock): Promise<unknown> {
    return inside(currentLease());
  }

  @locked((self: typeof Orders) => self.shared as Holdfast, 'all orders')
  static async close(inside: InsideLock): Promise<string> {
    await inside(currentLease('all orders'));
    return this.name;
  }

  static shared: Holdfast | undefined;

  /** Throws unless the caller holds the lock of the order. */
  static touch(id: string, holdfast?: Holdfast): number {
    return assertLocked(`order:${id}`, holdfast).fence;
  }
}
