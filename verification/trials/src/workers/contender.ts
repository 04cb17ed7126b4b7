/**
 * A process that acquires and releases locks on request, and reports events. Its times are of the
 * monotonic clock that all processes of the machine share.
 */
import { type HoldfastOptions, isHoldfastError, type Lease, type LockOptions } from 'holdfast';
import { type ClientName, connect } from '../support/clients.js';
import { startBeats } from '../support/beats.js';
import { lockOf, type Primitive } from '../support/locks.js';
import { monotonic } from '../support/overlaps.js';
import { given, send } from '../support/workers.js';
import { broken } from './broken.js';
import { observeStall, type Stall } from './stall.js';

export interface Given {
  readonly url: string;
  readonly client: ClientName;
  readonly options: HoldfastOptions;
  readonly fault: string | undefined;
  readonly primitive?: Primitive;
  /** True to include beats in the events, see `support/beats.ts`. */
  readonly beats?: boolean;
}

/** A request for a lock, held for `hold` ms or, if absent, until a `release` message. */
export interface Want {
  readonly key: string;
  readonly lock: LockOptions;
  readonly hold?: number;
  /** True to add no listener to the lease's signal. */
  readonly ignoresSignal?: boolean;
}

/** An event of a key at the time `at`. */
export type Event = {
  readonly key: string;
  readonly at: number;
  /** See `support/beats.ts`; empty unless requested. */
  readonly beats: readonly number[];
} & (
  | { readonly type: 'held'; readonly id: string; readonly fence: number; readonly held: boolean }
  | {
      readonly type: 'aborted';
      readonly id: string;
      readonly held: boolean;
      readonly code: string;
      readonly why: string;
      /** The latest end of the lease that `remaining` has ever promised. */
      readonly promised: number;
    }
  | {
      readonly type: 'over';
      readonly id: string;
      readonly fence: number;
      readonly from: number;
      readonly outcome: string;
    }
  | { readonly type: 'failed'; readonly code: string }
);

type Request =
  | { type: 'want'; wants: readonly Want[] }
  | { type: 'release'; keys: readonly string[] }
  | ({ type: 'stall' } & Stall);

/** The interval of reading `remaining`. */
const SAMPLE_MS = 10;

const { url, client: name, options, fault, beats: wanted, primitive = 'mutex' } = given<Given>();
const { client } = await connect(name, url);
const holdfast = broken(client, options, fault);
const beats = wanted === true ? startBeats() : (): readonly number[] => [];
const leases = new Map<string, { lease: Lease; promised: number; release: () => void }>();

type Unsent<E> = E extends Event ? Omit<E, 'beats'> : never;

function report(event: Unsent<Event>): void {
  // exits if the parent has ended
  send(event.type, { ...event, beats: beats() }).catch(() => process.exit(1));
}

async function want({ key, lock, hold, ignoresSignal }: Want): Promise<void> {
  try {
    const lease = await lockOf(primitive, holdfast, key).acquire(lock);
    const from = monotonic();
    const { id, fence, held } = lease;
    const promised = promisedBy(lease);
    const released = new Promise<void>((resolve) => {
      leases.set(key, { lease, promised, release: resolve });
    });
    if (ignoresSignal !== true) lease.signal.addEventListener('abort', () => aborted(lease));
    report({ type: 'held', key, at: from, id, fence, held });
    if (hold === undefined) await released;
    else if (hold > 0) await new Promise((resolve) => setTimeout(resolve, hold));
    const at = monotonic();
    const outcome = await lease.release();
    leases.delete(key);
    report({ type: 'over', key, at, id, fence, from, outcome });
  } catch (error) {
    const code = isHoldfastError(error) ? error.code : String(error);
    report({ type: 'failed', key, at: monotonic(), code });
  }
}

function aborted({ key, id, held, signal }: Lease): void {
  const at = monotonic();
  const code = isHoldfastError(signal.reason) ? signal.reason.code : String(signal.reason);
  const why = signal.reason instanceof Error ? signal.reason.message : code;
  const promised = leases.get(key)?.promised ?? 0;
  report({ type: 'aborted', key, at, id, held, code, why, promised });
}

/** The end of a lease by `remaining`; 0 if it has ended. */
function promisedBy(lease: Lease): number {
  const remaining = lease.remaining;
  return remaining > 0 ? monotonic() + remaining : 0;
}

setInterval(() => {
  for (const entry of leases.values()) {
    entry.promised = Math.max(entry.promised, promisedBy(entry.lease));
  }
}, SAMPLE_MS);

process.on('message', (request: Request) => {
  switch (request.type) {
    case 'want':
      for (const each of request.wants) void want(each);
      break;
    case 'release':
      for (const key of request.keys) leases.get(key)?.release();
      break;
    case 'stall': {
      const held = [...leases.values()].map(({ lease }) => lease);
      void observeStall(held, request).then((observations) => send('stalled', observations));
    }
  }
});
await send('ready');
