/** Where pushes to the gates of this process go, and how it knows that one is from the store. */
import type { RandomSource } from '../random-source.js';
import { sameToken } from '../acquire/pushes.js';
import type { Wake } from '../store/wake-channel.js';

/** What a request names to be pushed to: both empty while nothing would arrive. */
interface Address {
  readonly channel: string;
  readonly token: string;
}

/** No push is asked for. */
export const NOWHERE: Address = { channel: '', token: '' };

export class GateAddress {
  readonly #wake: Wake;
  readonly #randomSource: RandomSource;
  /** The secret that pushes repeat, see `pushes.ts`. Drawn when it is first needed. */
  #token = '';

  constructor(wake: Wake, randomSource: RandomSource) {
    this.#wake = wake;
    this.#randomSource = randomSource;
  }

  /** The address at this moment. */
  get now(): Address {
    const { channel } = this.#wake;
    if (channel === '') return NOWHERE;
    if (this.#token === '') this.#token = this.#randomSource.secret();
    return { channel, token: this.#token };
  }

  /** True if a push repeats the secret. */
  knows(token: string): boolean {
    return sameToken(token, this.#token);
  }
}
