/**
 * Whether a command may be applied twice. A change may not: a copy of its request has an old
 * ballot. A command that a server keeps for another process may:
 *
 * - if a client connects again, because it may send the request twice;
 * - if that server has not answered, and this process applies the command by itself.
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

  /** A server may keep a command that this process applies. */
  doubt(): void {
    this.#name = {};
  }
}
