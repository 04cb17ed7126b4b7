/** The options of the instances that the suites make. */
import { paced } from 'holdfast-testkit';
import type { HoldfastOptions } from '../../src/index.js';

/** The defaults, as a busy machine needs them; a test may have its own times. */
export function patient(options: HoldfastOptions = {}): HoldfastOptions {
  return { claimWindow: paced(1000), requestTimeout: paced(2000), ...options };
}

/** The default time limit of a statement in a database, as a busy machine needs it. */
export function patientStore(): { timeout: number } {
  return { timeout: paced(3000) };
}
