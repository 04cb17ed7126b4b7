/**
 * Methods that run under a lock by decorator: the seats of a show are sold one at a time, and the
 * method that changes the seats asserts that the lock is held.
 */
import { assertLocked, Holdfast, isHoldfastError, locked, memory } from 'holdfast';

const holdfast = new Holdfast(memory());

class BoxOffice {
  readonly seats = new Map<string, number>([['hamlet', 3]]);

  @locked(holdfast, 'show:{0}', { wait: 5000 })
  async sell(show: string, to: string): Promise<string> {
    const available = this.seats.get(show) ?? 0;
    // yields to the event loop: without the lock, another sale would sell the same seat here
    await new Promise((resolve) => setImmediate(resolve));
    if (available === 0) return `sold out for ${to}`;
    this.#take(show, available);
    return `${to} has seat ${available}`;
  }

  #take(show: string, seat: number): void {
    assertLocked(`show:${show}`);
    this.seats.set(show, seat - 1);
  }

  /** A bug: it does not acquire the lock. */
  async giveAway(show: string): Promise<void> {
    this.#take(show, 1);
  }
}

const office = new BoxOffice();
const buyers = ['Ann', 'Ben', 'Cleo', 'Dan'];
const sold = await Promise.all(buyers.map((buyer) => office.sell('hamlet', buyer)));
for (const line of sold) console.log(line);

try {
  await office.giveAway('hamlet');
} catch (error) {
  console.log(isHoldfastError(error) ? error.code : error);
}
await holdfast.close();
