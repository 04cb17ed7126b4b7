/** How an acquisition ended. */
import type { AcquireMessage } from 'holdfast';

/** `granted`, `refused` if the lock was not free and the call does not wait, or a code. */
export function outcomeOf({ granted, error }: AcquireMessage): string {
  if (error !== undefined) return codeOf(error);
  return granted === true ? 'granted' : 'refused';
}

/** The code of an error of Holdfast. */
export function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : 'error';
}
