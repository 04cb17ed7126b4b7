/** The spans of the leases that are held. */
import { type Span, SpanStatusCode } from '@opentelemetry/api';

/**
 * A lease that is handed over to another process ends without a message here. So the spans have a
 * limit: the oldest one ends at the next grant.
 */
const SPANS_MAX = 10_000;

/** A lease that goes from task to task of a process keeps its id, and gets a new fence. */
export function nameOfHold(id: string, fence: number | undefined): string {
  return `${fence} ${id}`;
}

export class HoldSpans {
  /** By their names. A task that holds a lease and takes it again has several spans. */
  readonly #spans = new Map<string, Span[]>();

  begin(hold: string, span: Span | undefined): void {
    if (span === undefined) return;
    const spans = this.#spans.get(hold);
    if (spans !== undefined) {
      spans.push(span);
      return;
    }
    this.#spans.set(hold, [span]);
    const [oldest] = this.#spans.keys();
    if (this.#spans.size > SPANS_MAX && oldest !== undefined) this.#endAll(oldest);
  }

  /** @param loss why the lease was lost, which ends all its holds */
  end(hold: string, loss?: string): void {
    if (loss !== undefined) return this.#endAll(hold, loss);
    const spans = this.#spans.get(hold);
    spans?.pop()?.end();
    if (spans?.length === 0) this.#spans.delete(hold);
  }

  endAll(): void {
    for (const hold of [...this.#spans.keys()]) this.#endAll(hold);
  }

  #endAll(hold: string, loss?: string): void {
    const spans = this.#spans.get(hold) ?? [];
    this.#spans.delete(hold);
    for (const span of spans.toReversed()) {
      if (loss !== undefined) {
        span.setAttribute('error.type', 'HOLDFAST_LOST');
        span.setStatus({ code: SpanStatusCode.ERROR, message: loss });
      }
      span.end();
    }
  }
}
