/** What the bench needs of a lock library. */
import type { Variant } from '../variants.js';

/** A lock that was acquired. */
export interface Held {
  release(): Promise<unknown>;
  /** Present if the library numbers its grants, so that a resource can refuse a late writer. */
  readonly fence?: unknown;
  /** False when the lock is lost, if the library tells. */
  readonly held?: boolean;
  /** The key and its value, if the lock is to be renewed with `Library.renew`. */
  readonly key?: string;
  readonly token?: string;
}

export interface Library {
  /** Waits until it has the lock. */
  acquire(key: string): Promise<Held>;
  /** Extends locks, if the library does not do it by itself. */
  renew?(held: readonly Held[]): Promise<unknown>;
  close(): Promise<unknown>;
}

/** What a worker is started with. */
export interface Given {
  readonly variant: Variant;
  readonly port: number;
  /** The ttl of the locks, in ms. */
  readonly ttl: number;
  /** Whether the locks are renewed while they are held. */
  readonly renew: boolean;
  readonly peersFolder: string | undefined;
}

/** The poll interval of libraries that poll and let their user choose it, in ms. */
export const POLL_MS = 10;

/** More attempts than any run needs: the wait itself is measured. */
export const ATTEMPTS = 1_000_000;
