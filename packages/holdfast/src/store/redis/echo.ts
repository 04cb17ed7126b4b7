/**
 * Messages of a process to its own wake channel show whether messages arrive: a dead connection may
 * look open.
 */
import type { EchoAnswer } from '../port.js';

/** Publishes as the scripts of locks do. */
export const ECHO = 'return redis.call(ARGV[1], ARGV[2], ARGV[3])';

export class Echo {
  #text = '';
  #heard: () => void = () => undefined;
  #sent = 0;

  heard(payload: string): boolean {
    if (!payload.startsWith('e ')) return false;
    if (payload === this.#text) this.#heard();
    return true;
  }

  /**
   * @param publish publishes on some channels of this process; resolves to the receivers of each
   */
  send(publish: (text: string) => Promise<readonly unknown[]>): EchoAnswer {
    this.#sent += 1;
    this.#text = `e ${this.#sent}`;
    let wanted = Number.POSITIVE_INFINITY;
    let heard = 0;
    let published = Promise.resolve(false);
    const arrived = new Promise<true>((resolve) => {
      const look = (): void => {
        if (heard >= wanted) resolve(true);
      };
      this.#heard = () => {
        heard += 1;
        look();
      };
      published = publish(this.#text).then((receivers) => {
        wanted = receivers.length;
        look();
        return receivers.every((count) => Number(count) > 0);
      });
    });
    return { published, arrived };
  }
}
