/**
 * Vitest's globalSetup: fetches the servers once, before test files that need them run in parallel.
 */
import { prepare } from './binaries.js';

/** Called by vitest. */
export async function setup(): Promise<void> {
  // failures are ignored here: a test that needs the missing server reports the reason
  await Promise.allSettled([prepare('redis'), prepare('valkey')]);
}
