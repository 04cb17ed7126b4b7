import type { Core } from '../acquire/core.js';
import type { HoldfastError } from '../base/errors.js';
import type { Inspect } from '../engine/commands.js';
import { errorOf, info, type ListOptions, type LockInfo, SHOWN_MAX } from './inspection.js';
import { MARK } from '../base/marker-key.js';
import { matchingKeys } from '../store/glob.js';
import { UnreadableRecord } from '../store/port.js';

const BATCH = 256;
const UNDER_WAY = 6;

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
    // the caller may never take it
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

export async function count(core: Core, pattern: string): Promise<number> {
  const seen = new Set<string>();
  for await (const key of keysOf(core, pattern)) if (!key.includes(MARK)) seen.add(key);
  return seen.size;
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
  if (keys.length === 0) return [];
  const found: (LockInfo | null)[] = keys.map(() => null);
  let left = keys.length;
  let failure: { readonly error: unknown } | undefined;
  await new Promise<void>((resolve) => {
    const end = (at: number, result: () => LockInfo | null): void => {
      try {
        found[at] = result();
      } catch (error) {
        failure ??= { error };
      }
      left -= 1;
      if (left === 0 || failure !== undefined) resolve();
    };
    const now = core.clock.now();
    for (const [at, key] of keys.entries()) {
      core.requests.post<Inspect>(
        { op: 'inspect', key, limit: SHOWN_MAX },
        {
          answered: (reply) => end(at, () => info(core, key, reply)),
          failed: (error) => end(at, () => unreadable(key, error, onUnreadable)),
          late: () => undefined,
        },
        now,
      );
    }
  });
  if (failure !== undefined) throw failure.error;
  return found.filter((one) => one !== null);
}

function unreadable(key: string, error: unknown, report: ListOptions['onUnreadable']): null {
  const ours = errorOf(error, key, 'HOLDFAST_UNREACHABLE');
  if (!(error instanceof UnreadableRecord)) throw ours;
  report?.(ours as HoldfastError);
  return null;
}
