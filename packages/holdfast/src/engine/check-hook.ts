/**
 * Where the assertions see each command. The engine does not import them, so programs do not load
 * them.
 */
import type { KeyCommand, Micros } from './commands.js';
import type { Resource } from './resource.js';

export interface Check {
  command(command: KeyCommand, resource: Resource, now: Micros): void;
  restored(resource: Resource): void;
}

let check: Check | undefined;

export function setCheck(next: Check | undefined): void {
  check = next;
}

export function afterCommand(command: KeyCommand, resource: Resource, now: Micros): void {
  check?.command(command, resource, now);
}

export function afterRestore(resource: Resource): void {
  check?.restored(resource);
}
