/**
 * The store on a register: the engine over one small text for each key ([decision
 * 11](../../../../../docs/decisions/0011-register-store.md)).
 *
 * Without `alive`, a dead waiter is found by its silence (see `engine/processes.ts`). A state has a
 * limited length.
 */
import { type Clock, systemClock } from '../../base/clock.js';
import { isGateCommand } from '../../engine/gate-messages.js';
import type { Command, KeyCommand, RenewReply, Reply } from '../../engine/commands.js';
import { PREFIX } from '../../base/prefix.js';
import type { Examination, Finding } from '../finding.js';
import { decodePush } from '../push-text.js';
import type { Store, TimeLimit, WakeChannel, WakeListener } from '../port.js';
import { renewSingly } from '../renew-singly.js';
import { inspected } from './apply.js';
import { limited } from './call-limit.js';
import { type ProposalParts, Proposals } from './proposals.js';
import { failureOf } from './pending.js';
import type { Errand, PeerRegister } from './peers.js';
import { keyOf, nameOf } from './names.js';
import { canWait } from './patience.js';
import { turnsOf } from './turns.js';
import { Users } from './users.js';

/** Kept keys, besides those of this process' leases. */
const KEPT_MAX = 1000;
const HELD_MAX = 20_000;
/** Keys that a command may drop. */
const LOOKS = 4;
/** The default of `stateMax`. */
const STATE_MAX = 256 * 1024;

export interface RegisterStoreOptions {
  readonly prefix?: string | undefined;
  readonly clock?: Clock | undefined;
  /** The jitter of pauses: in [0, 1). */
  readonly fraction?: (() => number) | undefined;
  /** The limit of a state, in characters. A command that would make it longer is refused. */
  readonly stateMax?: number | undefined;
  /** The longest call, in ms. Default: no limit. */
  readonly timeout?: number | undefined;
  readonly users?: Users | undefined;
}

export class RegisterStore implements Store {
  readonly label: string;
  /** A command may need a read before its swap. */
  readonly writesLater: boolean = true;
  readonly #register: PeerRegister;
  readonly #prefix: string;
  readonly #options: RegisterStoreOptions;
  readonly #parts: ProposalParts;
  readonly #users: Users;
  #uses = 0;
  #receiving: (() => void) | undefined;
  readonly #proposals = new Map<string, Proposals>();
  /** Goes round, and drops what was not used since the last time. */
  #hand: Iterator<[string, Proposals]> = this.#proposals.entries();

  constructor(register: PeerRegister, options: RegisterStoreOptions = {}) {
    const { prefix = PREFIX, clock = systemClock, fraction = Math.random } = options;
    const { stateMax = register.stateMax ?? STATE_MAX, users = new Users(), timeout } = options;
    this.label = register.label;
    this.#register = register;
    this.#prefix = prefix;
    this.#options = { ...options, users };
    this.#users = users;
    const calls = timeout === undefined ? register : limited(register, clock, timeout);
    this.#parts = {
      register: calls,
      turns: turnsOf(calls),
      clock,
      fraction,
      stateMax,
      busy: new Set(),
    };
    if (register.peers === undefined) return;
    register.peers.listener = {
      handedOver: (name, state) => this.#proposals.get(name)?.handedOver(state),
      asked: (name, command, errand) => this.#asked(name, command, errand),
    };
  }

  /** Another process left a command here, and repeats it if nothing comes of it. */
  #asked(name: string, text: string, errand: Errand): void {
    const command = JSON.parse(text) as KeyCommand;
    if (!canWait(command) || this.#nameOf('lock', command.key) !== name) return;
    this.#proposalsOf(command).addLeft(command, errand);
  }

  space(prefix: string): RegisterStore {
    return new RegisterStore(this.#register, { ...this.#options, prefix });
  }

  use(): void {
    this.#users.enter();
    this.#uses += 1;
    this.#receiving ??= this.#register.handsOver?.((name, state) =>
      this.#proposals.get(name)?.brought(state),
    );
  }

  async dispose(): Promise<void> {
    this.#uses -= 1;
    if (this.#uses === 0) {
      this.#receiving?.();
      this.#receiving = undefined;
    }
    if (!this.#users.leave()) return;
    await this.#users.quiet(this.#parts.clock);
    if (this.#users.none) await this.#register.close?.();
  }

  trouble(): string | undefined {
    return this.#register.trouble?.();
  }

  async examine(): Promise<Examination> {
    try {
      return { findings: (await this.#parts.register.examine?.()) ?? [], servers: [] };
    } catch (error) {
      return { findings: [unusable(failureOf(error).message)], servers: [] };
    }
  }

  async written(): Promise<void> {
    await Promise.all(Array.from(this.#parts.busy, (proposals) => proposals.written()));
  }

  execute(batch: readonly Command[]): Promise<Reply>[] {
    return batch.map((command) => {
      if (command.op !== 'renewMany') return this.#execute(command);
      const renew = (one: KeyCommand) => this.#execute(one) as Promise<RenewReply>;
      return renewSingly(command, renew, this.#parts.clock);
    });
  }

  #execute(command: KeyCommand): Promise<Reply> {
    if (command.op !== 'inspect') return this.#proposalsOf(command).add(command);
    const name = this.#nameOf('lock', command.key);
    // not before earlier commands on the key
    const mustWait = this.#proposals.get(name)?.idle === false;
    const looked = mustWait ? undefined : this.#register.look?.(name);
    if (looked === undefined) return this.#proposalsOf(command).add(command);
    return inspected(command, looked).catch((error: unknown) => {
      throw failureOf(error);
    });
  }

  async listen(name: string, listener: WakeListener): Promise<WakeChannel> {
    const channel = `${this.#prefix}wake:${name}`;
    // without a channel, requests name none, and waiters poll
    if (this.#register.listen === undefined) return { name: '', close: async () => undefined };
    const listening = await this.#register.listen(channel, {
      message: (text) => {
        const push = decodePush(text);
        if (push !== undefined) listener.push(push);
      },
      up: () => listener.up(),
      down: () => listener.down(),
    });
    return { name: channel, close: this.#users.opened(() => listening.close()) };
  }

  async *keys(_pattern: string, within: TimeLimit): AsyncIterable<string> {
    const start = this.#nameOf('lock', '');
    try {
      for await (const { key: name } of this.#register.scan(start, within)) {
        if (name.startsWith(start)) yield keyOf(name.slice(start.length));
      }
    } catch (error) {
      throw failureOf(error);
    }
  }

  #nameOf(kind: 'lock' | 'gate', key: string): string {
    return nameOf(`${this.#prefix}${kind}:${key}`);
  }

  #proposalsOf(command: KeyCommand): Proposals {
    const { key } = command;
    const name = this.#nameOf(isGateCommand(command) ? 'gate' : 'lock', key);
    let proposals = this.#proposals.get(name);
    if (proposals === undefined) {
      proposals = new Proposals(this.#parts, name, key);
      this.#proposals.set(name, proposals);
    }
    proposals.used = true;
    if (this.#proposals.size > KEPT_MAX) this.#dropUnused();
    return proposals;
  }

  #dropUnused(): void {
    const now = this.#proposals.size > HELD_MAX ? Infinity : this.#parts.clock.now();
    for (let looks = 0; looks < LOOKS; looks++) {
      const { done, value } = this.#hand.next();
      if (done === true) {
        this.#hand = this.#proposals.entries();
        continue;
      }
      const [name, proposals] = value;
      if (proposals.mayBeDropped(now)) this.#proposals.delete(name);
      proposals.used = false;
    }
  }
}

function unusable(evidence: string): Finding {
  return {
    ...{ code: 'unreachable', severity: 'danger', server: '', evidence },
    message: 'the store cannot be used, so it was not examined',
    advice: 'check the address, the network, the login and the server',
  };
}
