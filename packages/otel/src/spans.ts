/**
 * The spans: one for each acquisition, in the trace of its caller. If it had to wait, an event says
 * how long, and for which holder. Another span begins with the grant, in the same trace, and ends
 * with the release or the loss.
 */
import {
  type Attributes,
  context,
  type Context,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import type {
  AcquireMessage,
  ForcedMessage,
  HolderInfo,
  LockInfo,
  LostMessage,
  ReleaseMessage,
} from 'holdfast';
import { HoldSpans, nameOfHold } from './hold-spans.js';
import { Kept, listen } from './channels.js';
import type { Instrumented } from './instrument.js';
import type { LockName } from './lock-name.js';
import { codeOf, outcomeOf } from './outcome.js';

export interface SpanSettings {
  readonly tracer: Tracer;
  readonly nameOf: LockName;
  readonly holderAfter: number;
  readonly requireParentSpan: boolean;
}

/** An acquisition that is under way. */
interface Waiting {
  readonly span: Span;
  /** Of its caller. */
  readonly parent: Context;
  /** When it began to wait. */
  since: number;
  timer: NodeJS.Timeout | undefined;
  holder: string;
}

/** Subscribes. Returns a function that ends the subscriptions. */
export function traceLocks(holdfast: Instrumented, settings: SpanSettings): () => void {
  const acquiring = new Kept<Waiting>();
  const forcing = new Kept<Span>();
  /** Those of calls that are under way, with the timer of a wait. */
  const open = new Map<Span, Waiting | undefined>();
  const holding = new HoldSpans();
  const stop = listen(holdfast.id, {
    'tracing:holdfast:acquire:start': (message: AcquireMessage) => {
      const span = start(settings, 'acquire', message, {
        'holdfast.permits': message.permits,
        'holdfast.label': message.label,
      });
      if (span === undefined) return;
      const parent = context.active();
      const waiting = { span, parent, since: 0, timer: undefined, holder: '' };
      acquiring.set(message, waiting);
      open.set(span, waiting);
    },
    'holdfast:wait': (message: AcquireMessage) => {
      const waiting = acquiring.get(message);
      if (waiting?.span.isRecording()) waits(holdfast, waiting, message.key, settings.holderAfter);
    },
    'tracing:holdfast:acquire:asyncEnd': (message: AcquireMessage) => {
      const waiting = acquiring.get(message);
      if (waiting === undefined) return;
      open.delete(waiting.span);
      ends(waiting, message);
      const { fence = 0, id } = message;
      if (id === undefined || message.granted !== true) return;
      const attributes = { 'holdfast.fence': fence };
      const span = start(settings, 'hold', message, attributes, waiting.parent);
      holding.begin(nameOfHold(id, fence), span);
    },
    'tracing:holdfast:release:start': ({ id, fence }: ReleaseMessage) =>
      holding.end(nameOfHold(id, fence)),
    'holdfast:lost': ({ id, fence, reason }: LostMessage) =>
      holding.end(nameOfHold(id, fence), reason),
    'tracing:holdfast:forced:start': (message: ForcedMessage) => {
      const span = start(settings, 'force release', message, { 'holdfast.reason': message.reason });
      if (span === undefined) return;
      forcing.set(message, span);
      open.set(span, undefined);
    },
    'tracing:holdfast:forced:asyncEnd': (message: ForcedMessage) => {
      const span = forcing.get(message);
      if (message.error !== undefined) fail(span, message.error);
      span?.setAttribute('holdfast.ended', message.ended ?? 0);
      if (span !== undefined) open.delete(span);
      span?.end();
    },
  });
  return () => {
    stop();
    for (const [span, waiting] of open) {
      clearTimeout(waiting?.timer);
      span.end();
    }
    holding.endAll();
  };
}

/**
 * Starts a span, if it may be recorded. In a trace that is not sampled it creates none: the span
 * would not be sampled either, and creating it costs more than half of recording it.
 */
function start(
  { tracer, nameOf, requireParentSpan }: SpanSettings,
  what: string,
  { key }: { readonly key: string },
  about: Attributes,
  parent: Context = context.active(),
): Span | undefined {
  const above = trace.getSpan(parent);
  if (above === undefined ? requireParentSpan : !sampled(above)) return undefined;
  const name = nameOf(key);
  const attributes = { 'lock.name': name, 'holdfast.key': key, ...about };
  return tracer.startSpan(`${what} ${name}`, { kind: SpanKind.CLIENT, attributes }, parent);
}

/** False if neither this process nor the one that sent the request records the trace. */
function sampled(span: Span): boolean {
  return span.isRecording() || (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0;
}

/** Asks for the holder after some time, if it still waits then. */
function waits(holdfast: Instrumented, waiting: Waiting, key: string, after: number): void {
  waiting.since = performance.now();
  if (!Number.isFinite(after)) return;
  waiting.timer = setTimeout(() => {
    void holdfast.inspect(key).then(
      (info) => heldBy(waiting, info),
      // the wait goes on, and its end reports the failure
      () => undefined,
    );
  }, after);
  waiting.timer.unref();
}

function heldBy(waiting: Waiting, info: LockInfo | null): void {
  const [holder] = info?.holders ?? [];
  if (holder === undefined || !waiting.span.isRecording()) return;
  waiting.holder = `, held by ${describe(holder)}`;
  waiting.span.setAttributes({
    ...(holder.host !== undefined && { 'holdfast.holder.host': holder.host }),
    ...(holder.pid !== undefined && { 'holdfast.holder.pid': holder.pid }),
    ...(holder.label !== undefined && { 'holdfast.holder.label': holder.label }),
    'holdfast.holder.held_for': holder.heldFor / 1000,
    'holdfast.waiters': info?.waiterCount ?? 0,
  });
}

function describe({ host, pid, label }: HolderInfo): string {
  const process = pid === undefined ? '' : `, process ${pid}`;
  const name = label === undefined ? '' : ` (${label})`;
  return `host ${host ?? 'unknown'}${process}${name}`;
}

function ends({ span, since, timer, holder }: Waiting, message: AcquireMessage): void {
  clearTimeout(timer);
  if (since > 0) {
    const waited = Math.round(performance.now() - since);
    span.setAttribute('holdfast.waited', waited / 1000);
    span.addEvent(`waited ${waited} ms for ${message.key}${holder}`);
  }
  span.setAttribute('holdfast.outcome', outcomeOf(message));
  if (message.fence !== undefined) span.setAttribute('holdfast.fence', message.fence);
  if (message.error !== undefined) fail(span, message.error);
  span.end();
}

function fail(span: Span | undefined, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  span?.setAttribute('error.type', codeOf(error));
  span?.setStatus({ code: SpanStatusCode.ERROR, message });
}
