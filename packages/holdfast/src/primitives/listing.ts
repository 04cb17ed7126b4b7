/** Lists locks. */
import type { Core } from '../acquire/core.js';
import type { HoldfastError } from '../base/errors.js';
import { errorOf, info, type ListOptions, type LockInfo, SHOWN_MAX } from './inspection.js';
import { MARK } from '../base/marker-key.js';
import { matchingKeys } from '../store/glob.js';
import { UnreadableRecord } from '../store/port.js';

const LIST_BATCH = 100;

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
  let batch: string[] = [];
  for await (const key of keysOf(core, pattern)) {
    if (seen.has(key) || (!markers && key.includes(MARK))) continue;
    seen.add(key);
    batch.push(key);
    if (batch.length < LIST_BATCH) continue;
    yield* inspectAll(core, batch, onUnreadable);
    batch = [];
  }
  yield* inspectAll(core, batch, onUnreadable);
}

async function* keysOf({ requests, store }: Core, pattern: string): AsyncGenerator<string> {
  try {
    yield* matchingKeys(store, pattern, (page) => requests.within(page));
  } catch (error) {
    throw errorOf(error, pattern, 'HOLDFAST_UNREACHABLE');
  }
}

async function* inspectAll(
  core: Core,
  keys: readonly string[],
  onUnreadable: ListOptions['onUnreadable'],
): AsyncGenerator<LockInfo> {
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
  for (const found of await Promise.all(keys.map(look))) if (found !== null) yield found;
}
