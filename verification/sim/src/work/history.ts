/** The history for the checker, in virtual time. */
import type { Happening, HistoryEvent } from 'holdfast-checker';

export class History {
  events: HistoryEvent[] = [];
  readonly #trace: ((text: () => string) => void) | undefined;

  constructor(trace: ((text: () => string) => void) | undefined) {
    this.#trace = trace;
  }

  note(t: number, p: string, what: Happening): void {
    // a process that computes is ahead of the scheduler: a crash prevents what it was about to do
    if (what.e === 'crash')
      this.events = this.events.filter((event) => event.p !== p || event.t <= t);
    this.events.push({ t, p, ...what });
    this.#trace?.(() => {
      const { e, ...fields } = what;
      return `${p} ** ${e} ${JSON.stringify(fields)}`;
    });
  }

  /** In the order of time. */
  sorted(): HistoryEvent[] {
    return [...this.events].sort((a, b) => a.t - b.t);
  }
}
