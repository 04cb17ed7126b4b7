import type { Settings } from '../base/options.js';
import type { Watchdog } from '../lease/watchdog.js';
import type { Telemetry } from '../observe/telemetry.js';
import type { Requests } from '../store/requests.js';
import type { Wake } from '../store/wake-channel.js';
import type { Acquisitions } from './acquisitions.js';
import type { Releaser } from './releaser.js';

/** Its first user creates it; it is closed with the core. */
export interface CorePart {
  /** Rejects all pending and later calls. */
  close(): void;
  settled?(): Promise<unknown>;
  stop?(): void;
}

export interface PartHost {
  readonly settings: Settings;
  readonly requests: Requests;
  readonly telemetry: Telemetry;
  readonly watchdog: Watchdog;
  readonly acquisitions: Acquisitions;
  readonly releaser: Releaser;
  readonly wake: Wake;
  nextId(): string;
}
