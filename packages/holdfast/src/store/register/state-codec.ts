/**
 * The text of a state: the version of the format, the time of the last command, and the saved
 * resource or gate as JSON. Another version's text is refused, and never overwritten.
 */
import { type StoreFailure, UnreadableRecord } from '../port.js';
import { Engine } from '../../engine/engine.js';
import type { Micros } from '../../engine/commands.js';
import {
  restoredGate,
  restoredResource,
  savedGate,
  savedResource,
  type SavedGate,
  type SavedResource,
} from '../../engine/saved.js';

/** Increases with every change of the format. */
const VERSION = '5';

interface Saved {
  readonly lock?: SavedResource;
  readonly gate?: SavedGate;
}

export interface Loaded {
  readonly engine: Engine;
  readonly time: Micros;
  readonly body: string;
}

/** No channel is known to be dead. */
const NONE: ReadonlySet<string> = new Set();

/**
 * Throws `UnreadableRecord` for another text.
 * @param floor every fence of a new state is greater
 * @param dead channels on which no process listens
 */
export function decode(
  key: string,
  state: string,
  floor = 0,
  dead: ReadonlySet<string> = NONE,
): Loaded {
  const engine = new Engine((channel) => (dead.has(channel) ? 0 : 1), floor);
  if (state === '') return { engine, time: 0, body: '' };
  try {
    const [version, time] = state.split(' ', 2) as [string, string];
    if (version !== VERSION) {
      throw new TypeError(`its version is ${version}, and this library knows only ${VERSION}`);
    }
    const body = state.slice(version.length + time.length + 2);
    const { lock, gate } = JSON.parse(body) as Saved;
    if (lock !== undefined) engine.restore(key, restoredResource(lock));
    if (gate !== undefined) engine.gates.restore(key, restoredGate(gate));
    return { engine, time: Number(time), body };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw unchanged(new UnreadableRecord(message, error));
  }
}

export function unchanged(failure: StoreFailure): StoreFailure {
  return Object.assign(failure, { unchanged: true });
}

export function bodyOf(key: string, engine: Engine): string {
  const resource = engine.resource(key);
  const gate = engine.gates.get(key);
  if (gate === undefined) {
    return resource === undefined ? '' : JSON.stringify({ lock: savedResource(resource) });
  }
  const saved: Saved = {
    ...(resource && { lock: savedResource(resource) }),
    gate: savedGate(gate),
  };
  return JSON.stringify(saved);
}

export function encode(time: Micros, body: string): string {
  return body === '' ? '' : `${VERSION} ${time} ${body}`;
}

/** The time in a text, `NaN` if it has none. */
export function timeIn(state: string): Micros {
  return Number(state.split(' ', 2)[1]);
}

export function forgetAt(key: string, engine: Engine): Micros {
  return Math.max(engine.resource(key)?.forgetAt ?? 0, engine.gates.get(key)?.forgetAt ?? 0);
}

/** The key's greatest fence, granted or reserved, or its gate's generation. */
export function fenceOf(key: string, engine: Engine): number {
  return Math.max(engine.resource(key)?.fence ?? 0, engine.gates.get(key)?.generation ?? 0);
}
