/** The address for pushes to the gates of this process, and the token that proves their origin. */
import type { RandomSource } from '../../base/random-source.js';
import { sameToken } from '../../acquire/pushes.js';
import type { Wake } from '../../store/wake-channel.js';

/** The address in a request; both parts are empty while a push would not arrive. */
interface Address {
  readonly channel: string;
  readonly token: string;
}

/** The address that requests no push. */
export const NOWHERE: Address = { channel: '', token: '' };

export class GateAddress {
  readonly #wake: Wake;
  readonly #randomSource: RandomSource;
  /** The token that pushes repeat, see `pushes.ts`. Drawn when it is first needed. */
  #token = '';

  constructor(wake: Wake, randomSource: RandomSource) {
    this.#wake = wake;
    this.#randomSource = randomSource;
  }

  /** The current address. */
  get now(): Address {
    const { channel } = this.#wake;
    if (channel === '') return NOWHERE;
    if (this.#token === '') this.#token = this.#randomSource.secret();
    return { channel, token: this.#token };
  }

  /** True if a push contains the token. */
  knows(token: string): boolean {
    return sameToken(token, this.#token);
  }
}
