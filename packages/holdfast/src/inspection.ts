/** Looking at locks from outside, and ending them by force. */
import type { Core } from './core.js';
import { FORCE_LIMIT } from './engine/limits.js';
import type {
  Command,
  HolderView,
  InspectReply,
  ParkedView,
  ReplyTo,
  WaiterView,
} from './engine/commands.js';
import { HoldfastError, type HoldfastErrorCode } from './errors.js';
import { StoreFailure, UnreadableRecord } from './store/port.js';
import * as failures from './acquire/failures.js';
import { quote } from './text.js';

/** Who holds or waits, as it said of itself. */
export interface Participant {
  /** The acquisition's id. */
  readonly id: string;
  /** Who may enter again, if it gave an owner. */
  readonly owner: string | undefined;
  /** What it was called, see `label` of the options. */
  readonly label: string | undefined;
  /** The machine's name. */
  readonly host: string | undefined;
  /** The process there. */
  readonly pid: number | undefined;
}

/** Who holds a lock. */
export interface HolderInfo extends Participant {
  /** Permits that it holds: 1 of a mutex or as a reader, all there are as a writer. */
  readonly weight: number;
  /** The fence of its lease. */
  readonly fence: number;
  /** Ms that the lease still runs by the server's clock, unless it is renewed. */
  readonly remaining: number;
  /** Ms since it was granted. */
  readonly heldFor: number;
  /** Holds of the owner; 1 without an owner. */
  readonly holds: number;
}

/** Who waits for a lock. */
export interface WaiterInfo extends Participant {
  /** Permits that it waits for. */
  readonly weight: number;
  /** Whether it must not be overtaken. */
  readonly fair: boolean;
  /** Ms since it joined the queue. */
  readonly waitedFor: number;
}

/** Who waits at a condition of a lock. */
export interface ParkedInfo extends Participant {
  /** The condition's name. */
  readonly condition: string;
  /** Ms since it gave the lock up. */
  readonly waitedFor: number;
}

/** A lock at one moment. */
export interface LockInfo {
  /** What is locked. */
  readonly key: string;
  /** Permits that there are: 1 of a mutex. */
  readonly capacity: number;
  /** Permits that are held; more than there are for a while after a semaphore was made smaller. */
  readonly used: number;
  /** The last fence given out or reserved. */
  readonly fence: number;
  /** One at most, of a mutex; the first hundred, in the order of their expiry. */
  readonly holders: readonly HolderInfo[];
  /** All that hold. */
  readonly holderCount: number;
  /** In the order of the queue, the first hundred of them. */
  readonly waiters: readonly WaiterInfo[];
  /** All that wait. */
  readonly waiterCount: number;
  /** Who waits at conditions, the first hundred of them. */
  readonly parked: readonly ParkedInfo[];
  /** All that wait at conditions. */
  readonly parkedCount: number;
}

/** What `list` may be told. */
export interface ListOptions {
  /**
   * Called for each key under the prefix whose record cannot be read: another program wrote it, or
   * it was damaged. The error's `key` names it, its code is `HOLDFAST_REFUSED`, and its `cause` is
   * the answer of the server. Without it such keys are skipped.
   */
  readonly onUnreadable?: ((error: HoldfastError) => void) | undefined;
}

const SHOWN_MAX = 100;
const LIST_BATCH = 100;

/**
 * A lock, or `null` if nobody holds it, or waits for it or at a condition of it. Of each, `limit`
 * are shown at most.
 */
export async function inspect(
  core: Core,
  key: string,
  limit: number = SHOWN_MAX,
): Promise<LockInfo | null> {
  return info(key, await ask(core, { op: 'inspect', key, limit }));
}

/**
 * All locks in use whose keys match a glob pattern. Not a snapshot: each is shown as it is when its
 * turn comes.
 */
export async function* list(
  core: Core,
  pattern: string,
  { onUnreadable }: ListOptions,
): AsyncGenerator<LockInfo> {
  const seen = new Set<string>();
  let batch: string[] = [];
  for await (const key of keysOf(core, pattern)) {
    if (seen.has(key)) continue;
    seen.add(key);
    batch.push(key);
    if (batch.length < LIST_BATCH) continue;
    yield* inspectAll(core, batch, onUnreadable);
    batch = [];
  }
  yield* inspectAll(core, batch, onUnreadable);
}

async function* keysOf({ store }: Core, pattern: string): AsyncGenerator<string> {
  try {
    yield* store.keys(pattern);
  } catch (error) {
    throw errorOf(error, pattern, 'HOLDFAST_UNREACHABLE');
  }
}

/** Ends leases of a key without their holders' consent; resolves to how many. */
export async function forceRelease(core: Core, key: string, id: string): Promise<number> {
  const { retention } = core.settings;
  let total = 0;
  for (;;) {
    const { ended } = await ask(
      core,
      { op: 'forceRelease', key, id, retention },
      'HOLDFAST_UNCERTAIN',
    );
    total += ended;
    if (ended < FORCE_LIMIT) break;
  }
  return total;
}

async function* inspectAll(
  core: Core,
  keys: readonly string[],
  onUnreadable: ListOptions['onUnreadable'],
): AsyncGenerator<LockInfo> {
  const look = async (key: string): Promise<LockInfo | null> => {
    try {
      return info(key, await core.requests.send({ op: 'inspect', key, limit: SHOWN_MAX }));
    } catch (error) {
      const ours = errorOf(error, key, 'HOLDFAST_UNREACHABLE');
      if (!(error instanceof UnreadableRecord)) throw ours;
      onUnreadable?.(ours as HoldfastError);
      return null;
    }
  };
  for (const found of await Promise.all(keys.map(look))) if (found !== null) yield found;
}

/** Asks the store; what it could not answer is an error of ours. */
export async function ask<C extends Command>(
  core: Core,
  command: C,
  unanswered: 'HOLDFAST_UNREACHABLE' | 'HOLDFAST_UNCERTAIN' = 'HOLDFAST_UNREACHABLE',
): Promise<ReplyTo<C>> {
  try {
    return await core.requests.send(command);
  } catch (error) {
    throw errorOf(error, command.key, unanswered);
  }
}

function errorOf(error: unknown, key: string, unanswered: HoldfastErrorCode): unknown {
  if (!(error instanceof StoreFailure)) return error;
  if (error instanceof UnreadableRecord) return failures.unreadable(key, error);
  if (error.answered) return failures.refusedByServer(key, error);
  const message = `Holdfast: the store did not answer for ${quote(key)}: ${error.message}`;
  return new HoldfastError(unanswered, message, { key, cause: error });
}

function info(key: string, reply: InspectReply): LockInfo | null {
  const { holderCount, parkedCount, waiterCount } = reply;
  if (holderCount + waiterCount + parkedCount === 0) return null;
  return {
    key,
    capacity: reply.capacity,
    used: reply.used,
    fence: reply.fence,
    holders: reply.holders.map((holder) => holderInfo(holder, reply.now)),
    holderCount: reply.holderCount,
    waiters: reply.waiters.map((waiter) => waiterInfo(waiter, reply.now)),
    waiterCount,
    parked: reply.parked.map((parked) => parkedInfo(parked, reply.now)),
    parkedCount,
  };
}

function holderInfo(view: HolderView, now: number): HolderInfo {
  const { weight, fence, holds, left, since } = view;
  const times = { remaining: left / 1000, heldFor: (now - since) / 1000 };
  return { ...party(view), weight, fence, holds, ...times };
}

function waiterInfo(view: WaiterView, now: number): WaiterInfo {
  const { fair, ticket, weight } = view;
  return { ...party(view), weight, fair, waitedFor: Math.max(0, now - ticket) / 1000 };
}

function parkedInfo(view: ParkedView, now: number): ParkedInfo {
  const waitedFor = Math.max(0, now - view.since) / 1000;
  return { ...party(view), condition: view.condition, waitedFor };
}

/**
 * What a party said of itself is shown if it can be read, and left out if not: it decides nothing.
 */
function party({ id, owner, meta }: HolderView | WaiterView | ParkedView): Participant {
  let said: unknown;
  try {
    said = JSON.parse(meta);
  } catch {
    // written by something else than this library
  }
  const { label, host, pid } = (said ?? {}) as Record<string, unknown>;
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' ? value : undefined;
  const number = typeof pid === 'number' ? pid : undefined;
  return { id, owner: owner || undefined, label: text(label), host: text(host), pid: number };
}
