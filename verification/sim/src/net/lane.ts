/**
 * One direction of one connection: messages in order, unless the weather is loose. What is under
 * way when the connection is reset is lost; or comes late, where a proxy in between goes on
 * delivering what it had taken (`linger`).
 */
import type { Path } from './path.js';

export class Lane {
  readonly #path: Path;
  #lastArrival = 0;
  #closed = false;
  #lingers = 0;

  constructor(path: Path) {
    this.#path = path;
  }

  /** Sends at a time; `arrive` may run never, once, or (in loose weather, if not `once`) twice. */
  send(time: number, arrive: () => void, once: boolean): void {
    if (this.#closed) return;
    const { random, weather } = this.#path;
    if (weather.lost > 0 && random.chance(weather.lost)) return;
    this.#carry(time, arrive);
    if (!once && weather.doubled > 0 && random.chance(weather.doubled)) {
      this.#carry(time + random.next() * weather.echo, arrive);
    }
  }

  /** Sends what makes the connection one: it comes once, and is not lost. */
  sendSurely(time: number, arrive: () => void): void {
    if (!this.#closed) this.#carry(time, arrive);
  }

  /** @param lingers how much later what is under way may still arrive; 0: it is lost */
  close(lingers: number): void {
    this.#closed = true;
    this.#lingers = lingers;
  }

  #carry(time: number, arrive: () => void): void {
    const { scheduler, weather } = this.#path;
    const own = this.#path.arrival(time);
    const at = weather.loose ? own : Math.max(own, this.#lastArrival);
    if (!weather.loose) this.#lastArrival = at;
    scheduler.at(at, () => this.#arrive(arrive));
  }

  #arrive(arrive: () => void): void {
    const { scheduler, random, cutUntil } = this.#path;
    if (this.#closed) {
      if (this.#lingers > 0) scheduler.after(random.next() * this.#lingers, arrive);
    } else if (cutUntil > scheduler.now) {
      // it was on its way when the way was cut
      this.#carry(scheduler.now, arrive);
    } else {
      arrive();
    }
  }
}
