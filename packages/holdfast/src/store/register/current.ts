/** The state of a key as this process knows it, between two proposals. */
import type { Engine } from '../../engine/engine.js';
import type { Micros } from '../../engine/commands.js';
import { fencesOf, holdBack } from './held-back.js';
import { type KnownTime, latestOf, timeOf } from './known-time.js';
import type { HandedOver } from './register.js';
import type { PeerVersioned } from './peers.js';
import { decode, type Loaded, timeIn } from './state-codec.js';

/** A state with its version, and the known bounds of the register's clock. */
export class Current implements Loaded, KnownTime {
  readonly engine: Engine;
  readonly body: string;
  readonly time: Micros;
  readonly version: string;
  readonly storeTime: Micros;
  readonly knownAt: number;
  readonly latest: Micros;
  readonly askedAt: number;
  readonly fences: readonly number[];
  /** See `Versioned.settled`. */
  settled = true;
  /** See `Versioned.heldBack`. */
  heldBack = false;
  inDoubt = false;
  /** A message brought it. */
  handedOver = false;

  constructor(
    { engine, body, time }: Loaded,
    version: string,
    { storeTime, knownAt, latest, askedAt }: Omit<KnownTime, 'time'>,
    fences: readonly number[],
  ) {
    this.engine = engine;
    this.body = body;
    this.time = time;
    this.version = version;
    this.storeTime = storeTime;
    this.knownAt = knownAt;
    this.latest = latest;
    this.askedAt = askedAt;
    this.fences = fences;
  }
}

export function loadedFrom(
  key: string,
  { state, version, time: storeTime, latest = storeTime, floor, ...read }: PeerVersioned,
  asked: Pick<KnownTime, 'askedAt' | 'knownAt'>,
): Current {
  const loaded = decode(key, state, floor);
  const { settled = true, heldBack = false, inDoubt = false } = read;
  const resource = loaded.engine.resource(key);
  const time = Math.max(loaded.time, storeTime);
  if (heldBack) holdBack(resource, time);
  const known = { storeTime, latest, ...asked };
  const current = new Current(loaded, version, known, fencesOf(resource));
  return Object.assign(current, { settled, heldBack, inDoubt });
}

/** `kept`, unless what a message brought is later. */
export function broughtTo(
  key: string,
  kept: Current,
  { state, version }: HandedOver,
  now: number,
): Current {
  // not if it came twice
  if (!(timeIn(state) > kept.time)) return kept;
  const [time, latest] = [timeOf(kept, now), latestOf(kept, now)];
  try {
    const read = { state, version, time, latest };
    const current = loadedFrom(key, read, { askedAt: now, knownAt: now });
    return Object.assign(current, { handedOver: true });
  } catch {
    return kept;
  }
}
