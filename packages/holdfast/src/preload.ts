/**
 * Loads the modules that are otherwise loaded at their first use. For tests and the simulator,
 * whose order of events must not depend on the file system.
 */
import { GATES } from './gates/gates-of.js';
import { LISTING } from './inspection.js';
import { FORCE } from './holdfast.js';
import { MULTI } from './primitives/all-of.js';
import { RUNS } from './primitives/schedule.js';

export async function preload(): Promise<void> {
  await Promise.all([FORCE, GATES, LISTING, MULTI, RUNS].map((later) => later.load()));
}
