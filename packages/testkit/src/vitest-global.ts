/**
 * Vitest's globalSetup: servers are fetched once, before the test files that start them run side by
 * side.
 */
import { prepare } from './binaries.js';

/** Called by vitest. */
export async function setup(): Promise<void> {
  // a test that needs a server which cannot be had fails by itself, with the reason
  await Promise.allSettled([prepare('redis'), prepare('valkey')]);
}
