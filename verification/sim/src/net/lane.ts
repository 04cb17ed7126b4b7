/**
 * One direction of one connection: messages in order, unless the network is loose. When the
 * connection is reset, messages in flight are lost; or they come late, if a proxy still delivers
 * the messages it has received (`linger`).
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

  /** Sends at a time; `arrive` runs at most once, or (in a loose network, unless `once`) twice. */
  send(time: number, arrive: () => void, once: boolean): void {
    if (this.#closed) return;
    const { random, network } = this.#path;
    if (network.lost > 0 && random.chance(network.lost)) return;
    this.#carry(time, arrive);
    if (!once && network.doubled > 0 && random.chance(network.doubled)) {
      this.#carry(time + random.next() * network.echo, arrive);
    }
  }

  /** Sends a message that opens or ends the connection: never lost, never duplicated. */
  sendSurely(time: number, arrive: () => void): void {
    if (!this.#closed) this.#carry(time, arrive);
  }

  /** @param lingers by how many ms messages in flight may still arrive late; 0: they are lost */
  close(lingers: number): void {
    this.#closed = true;
    this.#lingers = lingers;
  }

  #carry(time: number, arrive: () => void): void {
    const { scheduler, network } = this.#path;
    const own = this.#path.arrival(time);
    const at = network.loose ? own : Math.max(own, this.#lastArrival);
    if (!network.loose) this.#lastArrival = at;
    scheduler.at(at, () => this.#arrive(arrive));
  }

  #arrive(arrive: () => void): void {
    const { scheduler, random, cutUntil } = this.#path;
    if (this.#closed) {
      if (this.#lingers > 0) scheduler.after(random.next() * this.#lingers, arrive);
    } else if (cutUntil > scheduler.now) {
      // the path was cut while the message was in flight
      this.#carry(scheduler.now, arrive);
    } else {
      arrive();
    }
  }
}
