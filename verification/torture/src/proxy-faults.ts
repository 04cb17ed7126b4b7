/** The faults that a proxy of one process has at the moment. */
import type { Direction } from 'holdfast-testkit';

export interface Faults {
  requests: boolean;
  replies: boolean;
  messages: boolean;
  holds: boolean;
  late: number;
  /** Called with each request: after how many ms it reaches the server again, if at all. */
  repeats: () => number | undefined;
  /** Called with each answer: whether it is lost. */
  loses: () => 'cut' | 'silence' | undefined;
}

const NO_FAULTS: Faults = {
  ...{ requests: false, replies: false, messages: false, holds: false, late: 0 },
  repeats: () => undefined,
  loses: () => undefined,
};

/** The switches of these faults; a proxy of a protocol looks at them. */
export abstract class ProxyFaults {
  protected readonly faults: Faults = { ...NO_FAULTS };

  blackhole(direction: Direction): void {
    this.faults.requests ||= direction !== 'replies';
    this.faults.replies ||= direction !== 'requests';
  }

  /** Requests arrive when the fault ends, also those that were given up. */
  holdRequests(): void {
    this.faults.holds = true;
  }

  loseReplies(loses: Faults['loses']): void {
    this.faults.loses = loses;
  }

  delayReplies(ms: number): void {
    this.faults.late = ms;
  }

  dropMessages(): void {
    this.faults.messages = true;
  }

  heal(): void {
    Object.assign(this.faults, NO_FAULTS);
  }
}
