/** The history for the checker, in virtual time. */
import type { Happening, HistoryEvent } from 'holdfast-checker';

export class History {
  readonly events: HistoryEvent[] = [];
  readonly #trace: ((text: () => string) => void) | undefined;

  constructor(trace: ((text: () => string) => void) | undefined) {
    this.#trace = trace;
  }

  note(t: number, p: string, what: Happening): void {
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
