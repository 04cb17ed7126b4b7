/**
 * What the latches and barriers of one instance share. The first of them creates it, so a program
 * without gates does not carry their code.
 */
import type { CorePart, PartHost } from '../core-part.js';
import { GateCommands } from './gate-commands.js';
import { GateWaiters } from './gate-waiters.js';

export class Gates implements CorePart {
  readonly waiters: GateWaiters;
  readonly commands: GateCommands;

  constructor(host: PartHost) {
    const { settings, requests, wake } = host;
    this.commands = new GateCommands(settings, requests);
    this.waiters = new GateWaiters({
      settings,
      requests,
      gateCommands: this.commands,
      wake,
      nextId: () => host.nextId(),
    });
  }

  close(): void {
    this.waiters.close();
    this.commands.close();
  }

  settled(): Promise<void> {
    return this.commands.settled();
  }

  stop(): void {
    this.commands.stop();
  }
}
