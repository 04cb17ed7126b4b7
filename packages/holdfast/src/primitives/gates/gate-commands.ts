/**
 * The gate commands that do not wait. Each names a generation, and is repeated until the store
 * answers.
 */
import type { BreakReason, GateCommand, GateReply, GateStatus } from '../../engine/commands.js';
import type { Settings } from '../../base/options.js';
import type { Requests } from '../../store/requests.js';
import { broken, gateClosed, otherGate, uncertain } from './gate-failures.js';
import type { GateSubject } from './gate-waiter.js';
import { retryUntilAnswered } from './retry.js';

export class GateCommands {
  readonly #parts: { readonly settings: Settings; readonly requests: Requests };
  #withdrawing = 0;
  #idle: (() => void)[] = [];
  #closed = false;
  #stopped = false;

  constructor(settings: Settings, requests: Requests) {
    this.#parts = { settings, requests };
  }

  /**
   * The current generation; its fate is `unknown` without a gate. Rejects if the gate has another
   * count.
   */
  async look(subject: GateSubject): Promise<GateStatus> {
    const status = await this.lookAtAny(subject);
    const { fate, count, missing } = status;
    // a barrier without arrivals accepts any count
    const suits = count === subject.count || (subject.kind === 'barrier' && missing === count);
    if (fate !== 'unknown' && !suits) throw otherGate(subject, { kind: subject.kind, count });
    return status;
  }

  lookAtAny(subject: GateSubject): Promise<GateStatus> {
    const gate = { ...subject, count: 0, generation: 0 };
    return this.#ask(subject, { op: 'watch', ...gate, ids: [], channel: '', token: '' });
  }

  async missing(subject: GateSubject): Promise<number> {
    const { fate, missing, reason } = await this.look(subject);
    if (fate === 'broken') throw broken(subject.kind, subject.key, reason);
    return fate === 'unknown' ? subject.count : missing;
  }

  endGeneration(
    subject: GateSubject,
    generation: number,
    reason: BreakReason,
  ): Promise<GateStatus> {
    const command = { op: 'endGeneration', ...subject, generation, reason } as const;
    return this.#ask(subject, command, `it may have been ${reason}`);
  }

  async withdraw(subject: GateSubject, generation: number): Promise<void> {
    this.#withdrawing += 1;
    const command = { op: 'endGeneration', ...subject, generation, reason: 'withdrawn' } as const;
    await retryUntilAnswered(this.#parts, () => command, {
      over: () => this.#stopped,
      failed: () => undefined,
      // then the arrival has expired
      patience: subject.ttl + this.#parts.settings.requestTimeout,
      weak: true,
    }).catch(() => undefined);
    this.#withdrawing -= 1;
    if (this.#withdrawing === 0) for (const tell of this.#idle.splice(0)) tell();
  }

  close(): void {
    this.#closed = true;
  }

  settled(): Promise<void> {
    if (this.#withdrawing === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  stop(): void {
    this.#stopped = true;
  }

  /** @param doubt what may have happened without an answer */
  async #ask(subject: GateSubject, command: GateCommand, doubt?: string): Promise<GateStatus> {
    const { key } = command;
    if (this.#closed) throw gateClosed(key);
    let silent = false;
    let reply: GateReply | undefined;
    try {
      reply = await retryUntilAnswered(this.#parts, () => command, {
        over: () => this.#closed,
        failed: ({ answered }) => {
          silent ||= !answered;
        },
        patience: this.#parts.settings.unreachableAfter,
      });
    } catch (error) {
      throw silent && doubt !== undefined ? uncertain(key, error, doubt) : error;
    }
    if (reply === undefined) throw gateClosed(key);
    if (reply.status === 'other') throw otherGate(subject, reply);
    return reply;
  }
}
