/**
 * The commands of this process that were left to another one, which is about to change their key.
 *
 *     left --answer--> over
 *        \--no answer: it will not be applied any more--> proposed again
 *
 * The other process may have ended. So at times, once its promise may be over, a read looks after
 * them.
 */
import type { Clock } from '../../base/clock.js';
import type { KeyCommand } from '../../engine/commands.js';
import type { PeerRegister } from './peers.js';
import { hindered, type Pending, replyOf } from './pending.js';

/** The first look comes after so many times of a promise. */
const STAYS = 1.5;
/** The least time until then, in ms; later times double. */
const LOOK_AFTER_MS = 150;

/** Resolves to the other process' answer; `undefined`: none. */
export type Answering = Promise<string | undefined>;

interface LeftParts {
  readonly clock: Clock;
  readonly fraction: () => number;
  readonly register: Pick<PeerRegister, 'peers'>;
}

interface LeftEvents {
  again(one: Pending): void;
  look(): void;
}

export class LeftCommands {
  readonly #parts: LeftParts;
  readonly #events: LeftEvents;
  readonly #open = new Set<Pending>();
  readonly #ids = new Map<string, Promise<void>>();
  #looking = false;

  constructor(parts: LeftParts, events: LeftEvents) {
    this.#parts = parts;
    this.#events = events;
  }

  get isOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Resolves when the left command with its id is over. A renewal adds nothing: none waits. */
  of(command: KeyCommand): Promise<void> | undefined {
    if (!('id' in command) || command.op === 'renew') return undefined;
    return this.#ids.get(command.id);
  }

  add(one: Pending, answering: Answering): void {
    const { command } = one;
    const id = 'id' in command ? command.id : '';
    this.#open.add(one);
    const over = answering.then((answer) => {
      this.#open.delete(one);
      this.#ids.delete(id);
      const reply = answer === undefined ? undefined : replyOf(answer);
      if (reply !== undefined) return one.resolve(reply);
      hindered([one]);
      this.#events.again(one);
    });
    // a poll adds nothing to the state, so it may come after a withdrawal
    if (id !== '') this.#ids.set(id, over);
    const stays = this.#parts.register.peers?.stays() ?? 0;
    this.#lookAfter(Math.max(LOOK_AFTER_MS, STAYS * stays));
  }

  #lookAfter(ms: number): void {
    if (this.#looking) return;
    this.#looking = true;
    const { clock, fraction } = this.#parts;
    const look = (): void => {
      this.#looking = false;
      if (this.#open.size === 0) return;
      this.#lookAfter(2 * ms);
      this.#events.look();
    };
    clock.after(ms * (0.5 + fraction()), look, true);
  }
}
