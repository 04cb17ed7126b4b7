/** The parts of a core that its acquisitions use. */
import type { ReleaseRetrier } from './cleanup/release-retrier.js';
import type { Watchdog } from '../lease/watchdog.js';
import type { Store } from '../store/port.js';
import type { AcquireSenderParts } from './acquire-sender.js';

export interface AcquisitionsParts extends AcquireSenderParts {
  readonly store: Store;
  readonly watchdog: Watchdog;
  readonly retrier: ReleaseRetrier;
  readonly ids: { readonly process: string; next(sleeps: number): string };
}
