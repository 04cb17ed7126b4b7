/** The register store on a quorum register for each prefix. */
import { type Clock, systemClock } from '../../base/clock.js';
import type { Command, Reply } from '../../engine/commands.js';
import { PREFIX } from '../../base/prefix.js';
import type { Store, StoreFailure, TimeLimit, WakeChannel, WakeListener } from '../port.js';
import type { ServerInfo } from '../server-info.js';
import { RegisterStore } from '../register/register-store.js';
import type { Acceptor } from './acceptor.js';
import { withClocks, withValidity } from './min-validity.js';
import { QuorumRegister } from './quorum-register.js';

export interface QuorumParts {
  readonly acceptors: (marker: string) => readonly Acceptor[];
  readonly timeout: number;
  readonly guard: number;
  readonly durable: boolean;
  /** In ms. */
  readonly minValidity?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly fraction?: (() => number) | undefined;
}

export class QuorumStore implements Store {
  readonly label = 'quorum';
  readonly writesLater = true;
  readonly register: QuorumRegister;
  readonly #parts: QuorumParts;
  readonly #store: RegisterStore;

  constructor(parts: QuorumParts, prefix: string = PREFIX) {
    const { clock = systemClock, fraction = Math.random, timeout, guard, durable } = parts;
    this.#parts = parts;
    const acceptors = parts.acceptors(`${prefix}quorum`);
    const options = { clock, fraction, timeout, guard, durable };
    this.register = new QuorumRegister(acceptors, options);
    this.#store = new RegisterStore(this.register, { prefix, clock, fraction });
  }

  space(prefix: string): QuorumStore {
    return new QuorumStore(this.#parts, prefix);
  }

  written(): Promise<void> {
    return this.#store.written();
  }

  execute(batch: readonly Command[]): Promise<Reply>[] {
    const answers = this.#store.execute(batch);
    const { clock = systemClock, minValidity: least = 0 } = this.#parts;
    const failure = (ttl: number): StoreFailure | undefined => {
      return this.register.members.clockFailure(ttl);
    };
    const terms = { clock, least, failure };
    return batch.map((command, at) => {
      const answer = answers[at] as Promise<Reply>;
      if (command.op === 'acquire') return withValidity(terms, command, answer);
      return command.op === 'renew' ? withClocks(terms, command, answer) : answer;
    });
  }

  listen(name: string, listener: WakeListener): Promise<WakeChannel> {
    return this.#store.listen(name, listener);
  }

  keys(pattern: string, within: TimeLimit): AsyncIterable<string> {
    return this.#store.keys(pattern, within);
  }

  servers(): readonly ServerInfo[] {
    return this.register.members.infos();
  }

  wrongClocks(): string | undefined {
    return this.register.members.wrongClocks();
  }

  connection(): unknown {
    return this.register.connections.name;
  }

  trouble(): string | undefined {
    return this.register.members.trouble();
  }
}
