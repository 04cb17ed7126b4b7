/** What the latches and barriers of an instance share; the first one creates it. */
import type { CorePart, PartHost } from '../../acquire/core-part.js';
import { fromCaller } from '../../acquire/failures.js';
import { GateCommands } from './gate-commands.js';
import type { GateRequest, GateResult, GateSubject } from './gate-waiter.js';
import { GateWaiters } from './gate-waiters.js';

export class GatePart implements CorePart {
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

  /** The stack of an error contains the caller. */
  enter(subject: GateSubject, request: GateRequest): Promise<GateResult> {
    return fromCaller(this.waiters.enter(subject, request));
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
