/** Lists locks. */
import type { Core } from '../acquire/core.js';
import type { HoldfastError } from '../base/errors.js';
import { errorOf, info, type ListOptions, type LockInfo, SHOWN_MAX } from './inspection.js';
import { MARK } from '../base/marker-key.js';
import { matchingKeys } from '../store/glob.js';
import { UnreadableRecord } from '../store/port.js';

/** Locks are inspected in batches of this size, of which so many are under way. */
const BATCH = 250;
const UNDER_WAY = 4;

/**
 * All locks in use whose keys match a glob pattern. Not a snapshot: each lock is inspected when the
 * scan reaches it.
 */
export async function* list(
  core: Core,
  pattern: string,
  { onUnreadable, markers = false }: ListOptions,
): AsyncGenerator<LockInfo> {
  const seen = new Set<string>();
  const underWay: Promise<LockInfo[]>[] = [];
  let batch: string[] = [];
  const inspectBatch = (): void => {
    const inspecting = inspectAll(core, batch, onUnreadable);
    // the caller may not take what has failed
    inspecting.catch(() => undefined);
    underWay.push(inspecting);
    batch = [];
  };
  for await (const key of keysOf(core, pattern)) {
    if (seen.has(key) || (!markers && key.includes(MARK))) continue;
    seen.add(key);
    batch.push(key);
    if (batch.length === BATCH) inspectBatch();
    if (underWay.length === UNDER_WAY) yield* await (underWay.shift() as Promise<LockInfo[]>);
  }
  inspectBatch();
  for (const inspecting of underWay) yield* await inspecting;
}

async function* keysOf({ requests, store }: Core, pattern: string): AsyncGenerator<string> {
  try {
    yield* matchingKeys(store, pattern, (page) => requests.within(page));
  } catch (error) {
    throw errorOf(error, pattern, 'HOLDFAST_UNREACHABLE');
  }
}

async function inspectAll(
  core: Core,
  keys: readonly string[],
  onUnreadable: ListOptions['onUnreadable'],
): Promise<LockInfo[]> {
  const look = async (key: string): Promise<LockInfo | null> => {
    try {
      return info(core, key, await core.requests.send({ op: 'inspect', key, limit: SHOWN_MAX }));
    } catch (error) {
      const ours = errorOf(error, key, 'HOLDFAST_UNREACHABLE');
      if (!(error instanceof UnreadableRecord)) throw ours;
      onUnreadable?.(ours as HoldfastError);
      return null;
    }
  };
  return (await Promise.all(keys.map(look))).filter((found) => found !== null);
}
