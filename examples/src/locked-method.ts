/**
 * Methods that run under a lock by annotation: the seats of a show are sold one at a time, and what
 * sells them checks that it runs under the lock.
 */
import { assertLocked, Holdfast, isHoldfastError, locked, memory } from 'holdfast';

const holdfast = new Holdfast(memory());

class BoxOffice {
  readonly seats = new Map<string, number>([['hamlet', 3]]);

  @locked(holdfast, 'show:{0}', { wait: 5000 })
  async sell(show: string, to: string): Promise<string> {
    const left = this.seats.get(show) ?? 0;
    // a turn of the event loop, in which another sale would do harm
    await new Promise((resolve) => setImmediate(resolve));
    if (left === 0) return `${to} comes too late`;
    this.#take(show, left);
    return `${to} has seat ${left}`;
  }

  #take(show: string, seat: number): void {
    assertLocked(`show:${show}`);
    this.seats.set(show, seat - 1);
  }

  /** Forgets to lock. */
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
