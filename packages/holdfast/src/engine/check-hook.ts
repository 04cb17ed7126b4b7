/**
 * The place at which the assertions see each command. The engine does not import them, so programs
 * do not load them.
 */
import type { KeyCommand, Micros } from './commands.js';
import type { Resource } from './resource.js';

export interface Check {
  /** Throws an `Error` if the resource is not sound after a command. */
  command(command: KeyCommand, resource: Resource, now: Micros): void;
  restored(resource: Resource): void;
}

let check: Check | undefined;

/** For all engines in this process; `undefined` removes it. */
export function setCheck(next: Check | undefined): void {
  check = next;
}

export function afterCommand(command: KeyCommand, resource: Resource, now: Micros): void {
  check?.command(command, resource, now);
}

/** Called when a store has restored a resource, before the next command on it. */
export function afterRestore(resource: Resource): void {
  check?.restored(resource);
}
