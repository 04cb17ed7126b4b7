/**
 * Whether a command may be applied twice. A copy of a change has an old ballot. But a command that
 * is left may, if a client connects again and sends it twice, or if its server has not answered.
 */
import type { Acceptor } from './acceptor.js';

export class Connections {
  readonly #acceptors: readonly Acceptor[];
  #seen: readonly unknown[] = [];
  #name = {};

  constructor(acceptors: readonly Acceptor[]) {
    this.#acceptors = acceptors;
  }

  get name(): unknown {
    const now = this.#acceptors.map((acceptor) => acceptor.connection?.());
    if (now.includes(undefined)) return undefined;
    if (now.some((one, at) => one !== this.#seen[at])) this.doubt();
    this.#seen = now;
    return this.#name;
  }

  doubt(): void {
    this.#name = {};
  }
}
