/**
 * A memory store that records the commands and batches that it receives, and simulates network
 * failures of requests and replies.
 */
import type { Clock } from '../../src/base/clock.js';
import type { Command, KeyCommand, Op, RenewMany, Reply } from '../../src/engine/commands.js';
import { MemoryStore } from '../../src/store/memory/memory-store.js';
import {
  FAILED,
  type Store,
  StoreFailure,
  UNANSWERED,
  type WakeChannel,
  type WakeListener,
} from '../../src/store/port.js';

/**
 * The fate of a command: answered at once; answered after some milliseconds; executed without an
 * answer; or not executed, with or without an error.
 */
export type Fate = 'answered' | number | 'answer lost' | 'lost' | 'failed' | 'refused';

export class WatchedStore implements Store {
  readonly label = 'watched';
  readonly inner: MemoryStore;
  readonly batches: (readonly Command[])[] = [];
  /** A command for several leases counts as one command for each. */
  fate: (command: KeyCommand) => Fate = () => 'answered';
  /** False: a wake channel cannot be opened. */
  pushes = true;
  /** True: the wake channel is open, but all pushes are lost. */
  deaf = false;
  readonly #clock: Clock;

  /** @param inner shared by several simulated processes, each with its own network failures */
  constructor(clock: Clock, inner: MemoryStore = new MemoryStore(clock)) {
    this.#clock = clock;
    this.inner = inner;
  }

  /**
   * The received commands of one kind. A command for several leases counts as one for each. A
   * renewal that only names a channel, with a ttl of 1, does not count.
   */
  seen<O extends KeyCommand['op']>(op: O): Extract<KeyCommand, { op: O }>[] {
    const all = this.batches.flat().flatMap(singly) as Extract<KeyCommand, { op: O }>[];
    return all.filter(
      (one) => one.op === op && !('ttl' in one && one.op === 'renew' && one.ttl === 1),
    );
  }

  /** Sets the fate of a kind of command from now on. */
  ail(op: Op, fate: Fate): void {
    const before = this.fate;
    this.fate = (command) => (command.op === op ? fate : before(command));
  }

  heal(): void {
    this.fate = () => 'answered';
  }

  execute(batch: readonly Command[]): Promise<Reply>[] {
    this.batches.push(batch);
    return batch.map((command) => {
      const fates = singly(command).map((one) => this.fate(one));
      const [fate = 'answered'] = fates;
      if (command.op !== 'renewMany' || fates.every((one) => one === fate)) {
        return this.#execute(command, fate);
      }
      return this.#renewSome(command, fates);
    });
  }

  /** Executes a renewal of several leases that have different fates. */
  async #renewSome(command: RenewMany, fates: readonly Fate[]): Promise<Reply> {
    const left = fates.map(async (fate, index) => {
      if (fate === 'failed' || fate === 'lost') return UNANSWERED;
      if (fate === 'refused') return FAILED;
      const [reply] = this.inner.execute([singly(command)[index] as KeyCommand]);
      const { left: ms } = (await reply) as { left: number };
      return fate === 'answered' ? ms : UNANSWERED;
    });
    return { status: 'renewals', now: 0, left: await Promise.all(left) };
  }

  #execute(command: Command, fate: Fate): Promise<Reply> {
    if (fate === 'lost') return new Promise(() => undefined);
    if (fate === 'failed' || fate === 'refused') {
      const kind = fate === 'failed' ? 'unanswered' : 'refused';
      return Promise.reject(new StoreFailure('OOM the test refuses this', kind, undefined));
    }
    const [reply] = this.inner.execute([command]) as [Promise<Reply>];
    if (fate === 'answered') return reply;
    return new Promise((resolve) => {
      if (fate !== 'answer lost') this.#clock.after(fate, () => resolve(reply), true);
    });
  }

  listen(name: string, listener: WakeListener): Promise<WakeChannel> {
    if (!this.pushes) return new Promise(() => undefined);
    const push: WakeListener['push'] = (one) => {
      if (!this.deaf) listener.push(one);
    };
    return this.inner.listen(name, { ...listener, push });
  }

  keys(): AsyncIterable<string> {
    return this.inner.keys();
  }
}

/** A command for several leases as one command for each. */
function singly(command: Command): KeyCommand[] {
  if (command.op !== 'renewMany') return [command];
  const { keys, ids, ttl, retention } = command;
  return keys.map((key, index) => {
    return { op: 'renew', key, id: ids[index] as string, ttl, retention };
  });
}
