/**
 * Fails a test file that causes a warning of Node, for example about too many listeners. Warnings
 * about deprecated and experimental features of Node come from dependencies, and are ignored.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll } from 'vitest';

const IGNORED = ['DeprecationWarning', 'ExperimentalWarning'];
const caught: Error[] = [];

function listen(warning: Error): void {
  if (!IGNORED.includes(warning.name)) caught.push(warning);
}

/** Removes and returns the warnings so far. */
export async function takeWarnings(): Promise<Error[]> {
  // Node emits a warning in a later turn
  await turn();
  return caught.splice(0);
}

process.on('warning', listen);
afterAll(async () => {
  const warnings = await takeWarnings();
  process.off('warning', listen);
  if (warnings.length > 0) {
    throw new AggregateError(warnings, `the tests of this file caused: ${warnings.join('; ')}`);
  }
});
