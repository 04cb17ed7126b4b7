/**
 * A process that holds and waits as it is told, and says when it believes what. Its times are of
 * the clock that all processes of the machine share.
 */
import { type HoldfastOptions, isHoldfastError, type Lease, type LockOptions } from 'holdfast';
import { type ClientName, connect } from '../support/clients.js';
import { startBeats } from '../support/beats.js';
import { lockOf, type Primitive } from '../support/locks.js';
import { monotonic } from '../support/overlaps.js';
import { given, say } from '../support/workers.js';
import { broken } from './broken.js';
import { lookAfterStall, type Stall } from './stall.js';

export interface Given {
  readonly url: string;
  readonly client: ClientName;
  readonly options: HoldfastOptions;
  readonly fault: string | undefined;
  readonly primitive?: Primitive;
  /** True if it shall say how the machine treats it. */
  readonly beats?: boolean;
}

/** Asks for a lock; `hold` is how long to keep it, without it until it is told to release. */
export interface Want {
  readonly key: string;
  readonly lock: LockOptions;
  readonly hold?: number;
  /** True if the lease's signal shall be left alone. */
  readonly deaf?: boolean;
}

/** What it says about a key, at the moment `at`. */
export type Event = {
  readonly key: string;
  readonly at: number;
  /** See `support/beats.ts`; empty unless it was asked for. */
  readonly beats: readonly number[];
} & (
  | { readonly type: 'held'; readonly id: string; readonly fence: number; readonly held: boolean }
  | {
      readonly type: 'aborted';
      readonly id: string;
      readonly held: boolean;
      readonly code: string;
      /** The latest moment for which `remaining()` ever promised the lock. */
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

type Told =
  | { type: 'want'; wants: readonly Want[] }
  | { type: 'release'; keys: readonly string[] }
  | ({ type: 'stall' } & Stall);

/** How often leases are asked what they promise. */
const SAMPLE_MS = 10;

const { url, client: name, options, fault, beats: wanted, primitive = 'mutex' } = given<Given>();
const { client } = await connect(name, url);
const holdfast = broken(client, options, fault);
const beats = wanted === true ? startBeats() : (): readonly number[] => [];
const leases = new Map<string, { lease: Lease; promised: number; release: () => void }>();

type Unsent<E> = E extends Event ? Omit<E, 'beats'> : never;

function tell(event: Unsent<Event>): void {
  // a parent that is gone is told nothing
  say(event.type, { ...event, beats: beats() }).catch(() => process.exit(1));
}

async function want({ key, lock, hold, deaf }: Want): Promise<void> {
  try {
    const lease = await lockOf(primitive, holdfast, key).acquire(lock);
    const from = monotonic();
    const { id, fence, held } = lease;
    const promised = promisedBy(lease);
    const released = new Promise<void>((resolve) => {
      leases.set(key, { lease, promised, release: resolve });
    });
    if (deaf !== true) lease.signal.addEventListener('abort', () => aborted(lease));
    tell({ type: 'held', key, at: from, id, fence, held });
    if (hold === undefined) await released;
    else if (hold > 0) await new Promise((resolve) => setTimeout(resolve, hold));
    const at = monotonic();
    const outcome = await lease.release();
    leases.delete(key);
    tell({ type: 'over', key, at, id, fence, from, outcome });
  } catch (error) {
    const code = isHoldfastError(error) ? error.code : String(error);
    tell({ type: 'failed', key, at: monotonic(), code });
  }
}

function aborted({ key, id, held, signal }: Lease): void {
  const at = monotonic();
  const code = isHoldfastError(signal.reason) ? signal.reason.code : String(signal.reason);
  const promised = leases.get(key)?.promised ?? 0;
  tell({ type: 'aborted', key, at, id, held, code, promised });
}

/** Until when a lease says that it lasts, 0 if it has ended. */
function promisedBy(lease: Lease): number {
  const remaining = lease.remaining();
  return remaining > 0 ? monotonic() + remaining : 0;
}

setInterval(() => {
  for (const entry of leases.values()) {
    entry.promised = Math.max(entry.promised, promisedBy(entry.lease));
  }
}, SAMPLE_MS);

process.on('message', (told: Told) => {
  switch (told.type) {
    case 'want':
      for (const each of told.wants) void want(each);
      break;
    case 'release':
      for (const key of told.keys) leases.get(key)?.release();
      break;
    case 'stall': {
      const held = [...leases.values()].map(({ lease }) => lease);
      void lookAfterStall(held, told).then((looks) => say('stalled', looks));
    }
  }
});
await say('ready');
