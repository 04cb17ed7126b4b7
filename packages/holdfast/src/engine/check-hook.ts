/**
 * The place at which the assertions see each command. The engine does not import them, so a program
 * that uses the library does not load them.
 */
import type { Micros } from './commands.js';
import type { Resource } from './resource.js';

/** Throws an `Error` if the resource is not sound after a command. */
export type Check = (key: string, resource: Resource, now: Micros) => void;

let check: Check | undefined;

/** Sets the check of all engines in this process, or removes it. */
export function checkAfterCommands(next: Check | undefined): void {
  check = next;
}

/** Called after each command on a resource. */
export function afterCommand(key: string, resource: Resource, now: Micros): void {
  check?.(key, resource, now);
}
