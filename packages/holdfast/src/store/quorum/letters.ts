/** Commands to be left, see `quorum-peers.ts`. */
import type { Asker } from './acceptor.js';

type Sent = (kept: boolean) => Promise<string | undefined>[] | undefined;

export interface Letters {
  readonly text: string;
  /** A server without an answer may keep them, or will. */
  readonly inDoubt: boolean;
  posted(vote: Promise<unknown>): void;
  /** The answers of the owner, if the server keeps the commands. */
  readonly sent: Sent;
}

export interface LeavingTerms extends Pick<Asker, 'yields'> {
  readonly letters: Letters;
}

export class Posted implements Letters {
  readonly text: string;
  readonly sent: Sent;
  #unanswered = 0;

  constructor(text: string, sent: Sent) {
    this.text = text;
    this.sent = sent;
  }

  get inDoubt(): boolean {
    return this.#unanswered > 0;
  }

  posted(vote: Promise<unknown>): void {
    this.#unanswered += 1;
    const answered = (): void => void (this.#unanswered -= 1);
    vote.then(answered, () => undefined);
  }
}

export const NO_LETTERS: Letters = {
  ...{ text: '', inDoubt: false, posted: () => undefined, sent: () => undefined },
};
