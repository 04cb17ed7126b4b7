/** Commands to be left, see `quorum-peers.ts`. */
import { afterIo, type Clock } from '../../base/clock.js';
import type { Asker, Vote } from './acceptor.js';

type Sent = (kept: boolean) => Promise<string | undefined>[] | undefined;

export interface Letters {
  readonly text: string;
  /** A server without an answer may keep them, or will. */
  readonly inDoubt: boolean;
  posted(vote: Promise<Vote>): void;
  /**
   * Commands in doubt are left if their server says so within so many ms. Otherwise they get no
   * answer.
   * @param doubt called if it has not answered
   */
  resolve(ms: number, doubt: () => void): void;
  /** The answers of the owner, if the server keeps the commands. */
  readonly sent: Sent;
}

export interface LeavingTerms extends Pick<Asker, 'yields'> {
  readonly letters: Letters;
}

export interface PostedParts {
  readonly clock: Clock;
  readonly text: string;
  readonly sent: Sent;
  readonly returned: () => void;
}

export class Posted implements Letters {
  readonly text: string;
  readonly sent: Sent;
  readonly #parts: PostedParts;
  #unanswered = 0;
  #kept = false;
  #settled: (() => void) | undefined;

  constructor(parts: PostedParts) {
    this.#parts = parts;
    this.text = parts.text;
    this.sent = parts.sent;
  }

  get inDoubt(): boolean {
    return this.#unanswered > 0;
  }

  posted(vote: Promise<Vote>): void {
    if (this.text === '') return;
    this.#unanswered += 1;
    const answered = (one: Vote): void => {
      this.#unanswered -= 1;
      this.#kept ||= one.status === 'no' && one.kept;
      if (!this.inDoubt) this.#settled?.();
    };
    vote.then(answered, () => undefined);
  }

  resolve(ms: number, doubt: () => void): void {
    const { clock, returned } = this.#parts;
    const end = (): void => {
      this.#settled = undefined;
      if (this.inDoubt) doubt();
      if (!this.#kept) returned();
    };
    if (ms === 0) return end();
    const timer = clock.after(ms, () => afterIo(clock, () => this.#settled?.()));
    this.#settled = () => {
      timer.cancel();
      end();
    };
  }
}

export const NO_LETTERS: Letters = {
  ...{ text: '', inDoubt: false, posted: () => undefined, sent: () => undefined },
  resolve: () => undefined,
};
