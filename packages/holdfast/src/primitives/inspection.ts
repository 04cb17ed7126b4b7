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

/** A holder or a waiter, by its own description. */
export interface Participant {
  readonly id: string;
  /** The `sharedBy` option, or the owner of `ownerLocks`. */
  readonly sharedBy: string | undefined;
  readonly label: string | undefined;
  readonly host: string | undefined;
  /** The process id on its machine. */
  readonly pid: number | undefined;
}

export interface HolderInfo extends Participant {
  /** 1 for a mutex or a reader, all for a writer. */
  readonly permits: number;
  readonly fence: number;
  /**
   * The last fence that is reserved for it. It is above `fence` if the process may hand the lease
   * on to its own waiters: such a lease has a fence in this range, and this holder's id, a slash
   * and a number.
   */
  readonly lastFence: number;
  /** Acquisitions that wait in its own process, as last reported by it. */
  readonly localWaiters: number;
  /** Ms until the lease ends without a renewal, by the server's clock; at most, with `sharedBy`. */
  readonly remaining: number;
  /** Ms since the grant. */
  readonly heldFor: number;
  /** The holds that share the lease, also expired ones; 1 without `sharedBy`. */
  readonly holds: number;
}

export interface WaiterInfo extends Participant {
  readonly permits: number;
  /** Must not be overtaken, see `fair`. */
  readonly fair: boolean;
  /** Acquisitions of its process for which this place stands, as last reported by it. */
  readonly localWaiters: number;
  /** Ms since it joined the queue. */
  readonly waitedFor: number;
}

/** A waiter at a condition. */
export interface ParkedInfo extends Participant {
  readonly condition: string;
  /** Ms since it gave up the lock. */
  readonly waitedFor: number;
}

/** The state of a lock at one moment. */
export interface LockInfo {
  readonly key: string;
  /** 1 for a mutex, 2³⁰ for a read-write lock. */
  readonly permits: number;
  /** The held ones; for a while above `permits` after a semaphore's were reduced. */
  readonly used: number;
  /** The last that was granted or reserved. */
  readonly fence: number;
  /** The first 100 by expiry. */
  readonly holders: readonly HolderInfo[];
  readonly holderCount: number;
  /** The first 100, in queue order. */
  readonly waiters: readonly WaiterInfo[];
  readonly waiterCount: number;
  /** The first 100 at conditions. */
  readonly parked: readonly ParkedInfo[];
  readonly parkedCount: number;
  /** The last answer of each server of a quorum. */
  readonly servers?: readonly ServerInfo[];
}

export interface ListOptions {
  /**
   * Called for each key under the prefix whose record cannot be read, because another program wrote
   * it or it was damaged. The error has the `key`, the code `HOLDFAST_REFUSED`, and the server's
   * answer as `cause`. Default: such keys are skipped.
   */
  readonly onUnreadable?: ((error: HoldfastError) => void) | undefined;
  /**
   * Also lists markers: the slots of schedules, and the reasons of forced releases. Their keys
   * contain U+001F. Default `false`.
   */
  readonly markers?: boolean | undefined;
}

export const SHOWN_MAX = 100;

/** @param limit of each list */
export async function inspect(
  core: Core,
  key: string,
  limit: number = SHOWN_MAX,
  options?: CallOptions,
): Promise<LockInfo | null> {
  const asked = (): Promise<InspectReply> => ask(core, { op: 'inspect', key, limit });
  return info(core, key, await unlessAborted(options, asked, key));
}

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

export function errorOf(error: unknown, key: string, unanswered: HoldfastErrorCode): unknown {
  if (!(error instanceof StoreFailure)) return error;
  if (error instanceof UnreadableRecord) return failures.unreadable(key, error);
  if (error.kind === 'refused') return failures.refusedByServer(key, error);
  if (error.kind === 'transient') return failures.unreachable(key, error);
  const message = `Holdfast: the store did not answer for ${quote(key)}: ${error.message}`;
  return new HoldfastError(unanswered, message, { key, cause: error });
}

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

/** One literal, because a spread would copy an object for each lock of a list. */
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

/** Omits metadata that cannot be parsed; no decision depends on it. */
export function party({ id, owner, meta }: HolderView | WaiterView | ParkedView): Participant {
  const { label, host, pid } = metaOf(meta);
  return { id, sharedBy: owner || undefined, label, host, pid };
}

type Meta = Pick<Participant, 'label' | 'host' | 'pid'>;

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
