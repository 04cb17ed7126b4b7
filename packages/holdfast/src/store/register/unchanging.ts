/**
 * Answers commands that need no change, and cannot be left to the process that is about to change
 * their key.
 *
 * - An acquisition without a channel comes back once, as queued without a place: then it is asked
 *   again, with a channel.
 * - One that does not queue is refused if a look finds the lock taken.
 */
import { inspected } from './apply.js';
import { canQueue } from './patience.js';
import type { PeerRegister } from './peers.js';
import type { Pending } from './pending.js';

const RETURNED_MAX = 1000;

export class Unchanging {
  readonly #register: PeerRegister;
  readonly #name: string;
  readonly #returned = new Set<string>();

  constructor(register: PeerRegister, name: string) {
    this.#register = register;
    this.#name = name;
  }

  async answers({ command, errand, resolve }: Pending): Promise<boolean> {
    if (command.op !== 'acquire' || errand !== undefined) return false;
    const { id, channel, claim } = command;
    if (canQueue(command)) {
      const now = this.#register.peers?.latest() ?? Infinity;
      if (channel !== '' || now === Infinity || this.#returned.has(id)) return false;
      if (this.#returned.size > RETURNED_MAX) this.#returned.clear();
      this.#returned.add(id);
      resolve({ status: 'queued', now, ticket: 0, next: claim * 1000 });
      return true;
    }
    const looked = command.queue ? undefined : this.#register.look?.(this.#name);
    const reply = looked && (await inspected(command, looked).catch(() => undefined));
    if (reply?.status !== 'refused') return false;
    resolve(reply);
    return true;
  }
}
