/**
 * Loads the modules that are otherwise loaded at their first use. For tests and the simulator,
 * whose order of events must not depend on the file system.
 */
import { GATES } from './gates/gates-of.js';
import { LISTING } from './inspection.js';
import { MULTI } from './primitives/all-of.js';

export async function preload(): Promise<void> {
  await Promise.all([GATES, LISTING, MULTI].map((later) => later.load()));
}
