/**
 * Sends accepted values later to the servers that a bare round did not ask: for a key that changes
 * often, at most one request in that time.
 *
 * Nothing depends on it.
 */
import type { Clock } from '../../base/clock.js';
import type { Micros } from '../../engine/commands.js';
import type { Proposal, Vote } from './acceptor.js';
import type { Member } from './member.js';
import type { Members } from './members.js';

const HEAL_MS = 100;
/** Further values are not sent. */
const WAITING_MAX = 2000;

interface Value {
  readonly members: readonly Member[];
  readonly proposal: (now: Micros) => Proposal;
  readonly vote: (vote: Vote) => void;
}

export class Healing {
  readonly #members: Members;
  readonly #clock: Clock;
  readonly #values = new Map<string, Value>();
  #isDue = false;

  constructor(members: Members, clock: Clock) {
    this.#members = members;
    this.#clock = clock;
  }

  add(key: string, value: Value): void {
    this.#values.delete(key);
    if (value.members.length === 0 || this.#values.size >= WAITING_MAX) return;
    this.#values.set(key, value);
    if (this.#isDue) return;
    this.#isDue = true;
    this.#clock.after(HEAL_MS, () => this.#send(), true);
  }

  #send(): void {
    this.#isDue = false;
    const values = [...this.#values];
    this.#values.clear();
    for (const [key, { members, proposal, vote }] of values) {
      const accepted = proposal(this.#members.now);
      for (const member of members) {
        this.#members.askOne(member, (acceptor) => acceptor.accept(key, accepted), vote);
      }
    }
  }
}
