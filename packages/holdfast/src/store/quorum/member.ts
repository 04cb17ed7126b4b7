/**
 * One server of a quorum, as this process sees it.
 *
 *     unknown --checked--> known <--answers, does not answer in time--> suspected
 *
 * Each request has its own deadline. A suspected server is asked once in a second.
 */
import type { Clock } from '../../base/clock.js';
import type { Micros } from '../../engine/commands.js';
import { StoreFailure } from '../port.js';
import type { Deadlines, Timed } from '../deadlines.js';
import type { Acceptor, GuardTerms, ServerStatus, Vote } from './acceptor.js';
import type { Forgotten } from './restarts.js';

const PROBE_MS = 1000;

export type Trouble =
  | { readonly kind: 'promised' }
  | { readonly kind: 'unmarked'; readonly until: Micros | undefined }
  | { readonly kind: 'guarded'; readonly until: Micros }
  | { readonly kind: 'late' }
  | { readonly kind: 'failed'; readonly message: string };

export type Answer =
  | { readonly vote: Vote }
  /** `sent` is false if the server has certainly done nothing. */
  | { readonly trouble: Trouble; readonly sent: boolean };

/** A deadline that passes only if the server answered nothing in the meantime. */
class Ask implements Timed {
  deadline: number;
  over = false;
  readonly #expired: (ask: Ask) => void;

  constructor(deadline: number, expired: (ask: Ask) => void) {
    this.deadline = deadline;
    this.#expired = expired;
  }

  expire(): void {
    this.#expired(this);
  }
}

export interface MemberParts {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** The longest silence with a request pending, in ms. */
  readonly timeout: number;
  readonly time: (time: Micros, sent: number, received: number) => void;
  /** Called before a server with a new state is asked to vote. */
  readonly seen: () => void;
}

export class Member {
  readonly acceptor: Acceptor;
  status: ServerStatus | undefined;
  /** `undefined` after an agreement. */
  trouble: Trouble | undefined;
  /** The time of the quorum at which it probably votes again. */
  guardedUntil: Micros | undefined;
  /** The time before which it is not asked about a lost memory. */
  lookFrom: number = Number.NEGATIVE_INFINITY;
  slowSince: number = Number.NEGATIVE_INFINITY;
  readonly #parts: MemberParts;
  /** When the last request was sent, if one missed its deadline and no answer came since. */
  #lateSince: number | undefined;
  #lastAnswer = Number.NEGATIVE_INFINITY;
  /** The boot seen last, since when, and its uptime then, in ms. */
  #boot: { readonly name: string; readonly at: number; readonly ran: number } | undefined;
  /** The same of its marker, and its age. */
  #marker: { readonly name: string; readonly at: number; readonly ran: number } | undefined;

  constructor(acceptor: Acceptor, parts: MemberParts) {
    this.acceptor = acceptor;
    this.#parts = parts;
  }

  /** True if it missed a deadline, and a probe is not yet due. */
  get suspected(): boolean {
    const since = this.#lateSince;
    return since !== undefined && this.#parts.clock.now() - since < PROBE_MS;
  }

  /** True if it was slow a moment ago, or refused for another reason than a promise. */
  get isDoubtful(): boolean {
    if (this.trouble !== undefined && this.trouble.kind !== 'promised') return true;
    return this.#parts.clock.now() - this.slowSince < PROBE_MS;
  }

  /**
   * Settles when the server answers or is silent for too long; never rejects.
   * @param late receives an answer that comes after that
   */
  ask(send: (acceptor: Acceptor) => Promise<Vote>, late: (vote: Vote) => void): Promise<Answer> {
    const { clock, timeout, deadlines } = this.#parts;
    const sent = clock.now();
    if (this.#lateSince !== undefined) this.#lateSince = sent;
    return new Promise((resolve) => {
      const ask = new Ask(sent + timeout, (one) => {
        // answers come in order, so a busy server will still answer
        if (this.#lastAnswer > one.deadline - timeout) {
          one.deadline = clock.now() + timeout;
          deadlines.add(one);
          return;
        }
        one.over = true;
        this.#lateSince = sent;
        this.trouble = { kind: 'late' };
        resolve({ trouble: this.trouble, sent: true });
      });
      deadlines.add(ask);
      const end = (): boolean => {
        const wasLate = ask.over;
        this.#lateSince = undefined;
        this.#lastAnswer = clock.now();
        ask.over = true;
        deadlines.tidy();
        return wasLate;
      };
      send(this.acceptor).then(
        (vote) => {
          const wasLate = end();
          this.#note(vote, sent);
          if (wasLate) late(vote);
          else resolve({ vote });
        },
        (error: unknown) => {
          const message = error instanceof Error ? error.message : String(error);
          this.trouble = { kind: 'failed', message };
          // a refused script has written nothing
          const refused = error instanceof StoreFailure && error.answered;
          if (!end()) resolve({ trouble: this.trouble, sent: !refused });
        },
      );
    });
  }

  /** `undefined` without an answer in time. */
  async look(terms: GuardTerms): Promise<ServerStatus | undefined> {
    let answered: ServerStatus | undefined;
    const seen = async (acceptor: Acceptor): Promise<Vote> => {
      const status = await acceptor.check(terms);
      const { boot: name, time, uptime, markedAt = time } = status;
      const at = this.#parts.clock.now();
      const marker = `${name} ${markedAt}`;
      if (this.#boot?.name !== name) this.#boot = { name, at, ran: uptime };
      if (this.#marker?.name !== marker) {
        this.#marker = { name: marker, at, ran: Math.max(0, (time - markedAt) / 1000) };
      }
      answered = this.status = status;
      this.#parts.seen();
      this.acceptor.boot = name;
      return { status: 'yes', time, ballot: '', value: '', mark: 0, left: '' };
    };
    const before = this.trouble;
    await this.ask(seen, () => undefined);
    // only a vote shows that it votes again
    const mute = before?.kind === 'guarded' || before?.kind === 'unmarked';
    if (answered !== undefined && mute) this.trouble = before;
    return answered;
  }

  /** By the clock of this process: a server's clock may be set after its boot. */
  get age(): Pick<Forgotten, 'running' | 'marked' | 'seen'> {
    const now = this.#parts.clock.now();
    const { at, ran } = this.#boot ?? { at: now, ran: 0 };
    const marker = this.#marker ?? { at: now, ran: 0 };
    const seen = now - marker.at;
    return { running: ran + now - at, marked: marker.ran + seen, seen };
  }

  #note(vote: Vote, sent: number): void {
    if (vote.status !== 'unmarked') this.#parts.time(vote.time, sent, this.#parts.clock.now());
    if (vote.status === 'guarded') this.trouble = { kind: 'guarded', until: vote.until };
    else if (vote.status === 'unmarked') {
      this.trouble = { kind: 'unmarked', until: this.guardedUntil };
    } else this.trouble = vote.status === 'no' ? { kind: 'promised' } : undefined;
  }
}

/** @param now the time of the quorum */
export function textOf(trouble: Trouble | undefined, now: Micros): string {
  switch (trouble?.kind) {
    case undefined:
      return 'agreed';
    case 'promised':
      return 'promised another ballot';
    case 'late':
      return 'did not answer in time';
    case 'failed':
      return `failed (${trouble.message})`;
    case 'unmarked':
    case 'guarded': {
      if (trouble.until === undefined) {
        return (
          'has no memory of earlier votes (new, or started again without durable data), and too ' +
          'few others answer to tell for how long that matters'
        );
      }
      const seconds = Math.max(0, Math.ceil((trouble.until - now) / 1e6));
      return (
        'has no memory of earlier votes (new, or started again without durable data) and votes ' +
        `in ${seconds} s`
      );
    }
  }
}
