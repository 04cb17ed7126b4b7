/** The address for pushes to the gates of this process, and the token that proves their origin. */
import type { RandomSource } from '../../base/random-source.js';
import { sameToken } from '../../acquire/pushes.js';
import type { Wake } from '../../store/wake-channel.js';

/** Empty while a push would not arrive. */
interface Address {
  readonly channel: string;
  readonly token: string;
}

/** Requests no push. */
export const NOWHERE: Address = { channel: '', token: '' };

export class GateAddress {
  readonly #wake: Wake;
  readonly #randomSource: RandomSource;
  #token = '';

  constructor(wake: Wake, randomSource: RandomSource) {
    this.#wake = wake;
    this.#randomSource = randomSource;
  }

  get now(): Address {
    const { channel } = this.#wake;
    if (channel === '') return NOWHERE;
    if (this.#token === '') this.#token = this.#randomSource.secret();
    return { channel, token: this.#token };
  }

  knows(token: string): boolean {
    return sameToken(token, this.#token);
  }
}
