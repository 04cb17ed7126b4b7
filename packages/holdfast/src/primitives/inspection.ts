/** Inspects locks. */
import { type CallOptions, unlessAborted } from '../base/abort.js';
import type { Core } from '../acquire/core.js';
import type {
  KeyCommand,
  HolderView,
  InspectReply,
  ParkedView,
  ReplyTo,
  WaiterView,
} from '../engine/commands.js';
import { HoldfastError, type HoldfastErrorCode } from '../base/errors.js';
import { StoreFailure, UnreadableRecord } from '../store/port.js';
import type { ServerInfo } from '../store/server-info.js';
import * as failures from '../acquire/failures.js';
import { quote } from '../base/text.js';

/** A holder or a waiter, as its own process described it. */
export interface Participant {
  /** The id of the acquisition. */
  readonly id: string;
  /** The `sharedBy` option of the acquisition, or the owner of `ownerLocks`, if it has one. */
  readonly sharedBy: string | undefined;
  /** The `label` option of the acquisition, if it has one. */
  readonly label: string | undefined;
  /** The host name of its machine. */
  readonly host: string | undefined;
  /** The id of its process on that machine. */
  readonly pid: number | undefined;
}

/** A holder of a lock. */
export interface HolderInfo extends Participant {
  /** The permits that it holds: 1 for a mutex or a reader, all of them for a writer. */
  readonly permits: number;
  /** The fence of its lease. */
  readonly fence: number;
  /**
   * The last fence that is reserved for it. It is above `fence` if the process may hand the lease
   * on to its own waiters: a lease that it handed on has a fence in this range, and the id of this
   * holder, a slash and a number.
   */
  readonly lastFence: number;
  /**
   * The number of acquisitions that wait for it in its own process, as the process last reported
   * it.
   */
  readonly localWaiters: number;
  /** The remaining time of the lease in ms, by the clock of the server, if it is not renewed. */
  readonly remaining: number;
  /** Ms since the lease was granted. */
  readonly heldFor: number;
  /** The number of holds that share the lease; 1 without `sharedBy`. */
  readonly holds: number;
}

/** A waiter in the queue of a lock. */
export interface WaiterInfo extends Participant {
  /** The permits that it waits for. */
  readonly permits: number;
  /** Whether it must not be overtaken, see the `fair` option. */
  readonly fair: boolean;
  /**
   * The number of acquisitions of its process that this place in the queue stands for, as the
   * process last reported it.
   */
  readonly localWaiters: number;
  /** Ms since it joined the queue. */
  readonly waitedFor: number;
}

/** A waiter at a condition of a lock. */
export interface ParkedInfo extends Participant {
  /** The name of the condition. */
  readonly condition: string;
  /** Ms since it gave up the lock. */
  readonly waitedFor: number;
}

/** The state of a lock at one moment. */
export interface LockInfo {
  /** The key of the lock. */
  readonly key: string;
  /** The number of permits: 1 for a mutex, 2³⁰ for a read-write lock. */
  readonly permits: number;
  /**
   * The number of permits that are held. It may exceed `permits` for a while after the permits of
   * a semaphore were reduced.
   */
  readonly used: number;
  /** The last fence that was granted or reserved. */
  readonly fence: number;
  /** The first 100 holders, ordered by expiry. A mutex has at most one. */
  readonly holders: readonly HolderInfo[];
  /** The number of all holders. */
  readonly holderCount: number;
  /** The first 100 waiters, in queue order. */
  readonly waiters: readonly WaiterInfo[];
  /** The number of all waiters. */
  readonly waiterCount: number;
  /** The first 100 waiters at conditions. */
  readonly parked: readonly ParkedInfo[];
  /** The number of all waiters at conditions. */
  readonly parkedCount: number;
  /** How each server answered last, on a quorum of servers. */
  readonly servers?: readonly ServerInfo[];
}

/** What `list` may be told. */
export interface ListOptions {
  /**
   * Called for each key under the prefix whose record cannot be read: another program wrote it, or
   * it was damaged. The error's `key` names it, its code is `HOLDFAST_REFUSED`, and its `cause` is
   * the answer of the server. Without it such keys are skipped.
   */
  readonly onUnreadable?: ((error: HoldfastError) => void) | undefined;
  /**
   * Whether to list markers too: the slots of schedules, and the reasons of forced releases. Their
   * keys contain U+001F. Default `false`.
   */
  readonly markers?: boolean | undefined;
}

/** The most holders, waiters and waiters at conditions that are shown. */
export const SHOWN_MAX = 100;

/**
 * The state of a lock, or `null` if it has no holder, no waiter and no waiter at a condition.
 * @param limit the most holders, waiters and waiters at conditions that are shown
 */
export async function inspect(
  core: Core,
  key: string,
  limit: number = SHOWN_MAX,
  options?: CallOptions,
): Promise<LockInfo | null> {
  const asked = (): Promise<InspectReply> => ask(core, { op: 'inspect', key, limit });
  return info(core, key, await unlessAborted(options, asked, key));
}

/** Sends a command. A failure becomes a `HoldfastError`. */
export async function ask<C extends KeyCommand>(
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

/** The `HoldfastError` for the failure of a store. */
export function errorOf(error: unknown, key: string, unanswered: HoldfastErrorCode): unknown {
  if (!(error instanceof StoreFailure)) return error;
  if (error instanceof UnreadableRecord) return failures.unreadable(key, error);
  if (error.kind === 'refused') return failures.refusedByServer(key, error);
  if (error.kind === 'transient') return failures.unreachable(key, error);
  const message = `Holdfast: the store did not answer for ${quote(key)}: ${error.message}`;
  return new HoldfastError(unanswered, message, { key, cause: error });
}

/** The state of a lock; `null` if it is not in use. */
export function info({ store }: Core, key: string, reply: InspectReply): LockInfo | null {
  const { holderCount, parkedCount, waiterCount } = reply;
  if (holderCount + waiterCount + parkedCount === 0) return null;
  const servers = store.servers?.();
  const found = {
    key,
    permits: reply.capacity,
    used: reply.used,
    fence: reply.fence,
    holders: reply.holders.map((holder) => holderInfo(holder, reply.now)),
    holderCount: reply.holderCount,
    waiters: reply.waiters.map((waiter) => waiterInfo(waiter, reply.now)),
    waiterCount,
    parked: reply.parked.map((parked) => parkedInfo(parked, reply.now)),
    parkedCount,
  };
  return servers === undefined ? found : { ...found, servers };
}

/** One literal: a list has one for each lock, and each spread would copy an object. */
function holderInfo(view: HolderView, now: number): HolderInfo {
  const { fence, tasks } = view;
  const { label, host, pid } = metaOf(view.meta);
  return {
    id: view.id,
    sharedBy: view.owner || undefined,
    label,
    host,
    pid,
    permits: view.weight,
    fence,
    holds: view.holds,
    lastFence: fence + view.handOffs,
    localWaiters: Math.max(0, tasks - 1),
    remaining: view.left / 1000,
    heldFor: (now - view.since) / 1000,
  };
}

function waiterInfo(view: WaiterView, now: number): WaiterInfo {
  const { fair, tasks, ticket, weight } = view;
  const waitedFor = Math.max(0, now - ticket) / 1000;
  return { ...party(view), permits: weight, fair, localWaiters: Math.max(1, tasks), waitedFor };
}

function parkedInfo(view: ParkedView, now: number): ParkedInfo {
  const waitedFor = Math.max(0, now - view.since) / 1000;
  return { ...party(view), condition: view.condition, waitedFor };
}

/**
 * The metadata of a participant. Metadata that cannot be parsed is omitted; no decision depends on
 * it.
 */
export function party({ id, owner, meta }: HolderView | WaiterView | ParkedView): Participant {
  const { label, host, pid } = metaOf(meta);
  return { id, sharedBy: owner || undefined, label, host, pid };
}

type Meta = Pick<Participant, 'label' | 'host' | 'pid'>;

/** The last metadata that was parsed: all leases of one process have the same. */
let last: { readonly text: string; readonly meta: Meta } | undefined;

function metaOf(text: string): Meta {
  if (last?.text !== text) last = { text, meta: parsed(text) };
  return last.meta;
}

function parsed(meta: string): Meta {
  let said: unknown;
  try {
    said = JSON.parse(meta);
  } catch {
    // written by another program
  }
  const { label, host, pid } = (said ?? {}) as Record<string, unknown>;
  const asText = (value: unknown): string | undefined =>
    typeof value === 'string' ? value : undefined;
  return {
    label: asText(label),
    host: asText(host),
    pid: typeof pid === 'number' ? pid : undefined,
  };
}
