/**
 * The layer for the option `replicas`: a grant counts only when a number of replicas has it
 * ([decision 20](../../../../../docs/decisions/0020-replicas.md)).
 *
 *     acquire, park --granted--> renewed and awaited with WAIT --enough--> granted
 *                                     |--too few--> `unacknowledged`: the caller releases it
 *                                     \--gone, no answer--> `unanswered`: the caller asks again
 *     renewals, changes of weight and capacity: executed and awaited with WAIT
 *     more weight: the same, if the server has had its memory for long enough for a grant
 *     all others: executed by the store below
 */
import type { ClientPort } from '../clients/port.js';
import { afterTurn } from '../../base/clock.js';
import type { Acquire, Command, Park, RenewManyReply, Reply } from '../../engine/commands.js';
import { type AcknowledgeTerms, type Store, StoreFailure } from '../port.js';
import { AcknowledgedPort, TOO_FEW } from './acknowledged-port.js';
import type { Layer } from './loaded-later.js';
import { RedisStore } from './redis-store.js';

const DIRECT: ReadonlySet<Command['op']> = new Set([
  ...(['renew', 'renewMany', 'resize', 'capacity'] as const),
]);
const MANY = 500;
const AGES_MAX = 100;

type Taking = Acquire | Park;

interface Grant {
  readonly command: Taking;
  readonly resolve: (left: number) => void;
  readonly reject: (error: unknown) => void;
}

export class Acknowledged implements Layer {
  readonly #below: Store;
  readonly #port: AcknowledgedPort;
  readonly #prefix: string;
  readonly #guard: number | undefined;
  readonly #acknowledging: RedisStore;
  /** Stores that confirm grants, by the least age of a server's memory, in ms. */
  readonly #confirming = new Map<number, RedisStore>();
  #grants: Grant[] = [];

  constructor(below: Store, client: ClientPort, prefix: string, terms: AcknowledgeTerms) {
    this.#below = below;
    this.#prefix = prefix;
    this.#guard = terms.restartGuard;
    this.#port = new AcknowledgedPort(client, prefix, terms);
    this.#acknowledging = new RedisStore(this.#port.port, prefix);
  }

  execute(batch: readonly Command[]): Promise<Reply>[] {
    const parts = new Map<Store, Command[]>();
    for (const command of batch) {
      const store = this.#storeOf(command);
      const part = parts.get(store);
      if (part === undefined) parts.set(store, [command]);
      else part.push(command);
    }
    const answers = new Map<Command, Promise<Reply>>();
    for (const [store, commands] of parts) {
      for (const [at, answer] of store.execute(commands).entries()) {
        answers.set(commands[at] as Command, answer);
      }
    }
    return batch.map((command) => {
      const answer = answers.get(command) as Promise<Reply>;
      return command.op === 'acquire' || command.op === 'park'
        ? answer.then((reply) => this.#confirmed(command, reply))
        : answer;
    });
  }

  close(): Promise<void> {
    return this.#port.close();
  }

  #storeOf(command: Command): Store {
    if (!DIRECT.has(command.op)) return this.#below;
    const grows = command.op === 'resize' ? command.grows : undefined;
    return grows === undefined ? this.#acknowledging : this.#storeFor(this.#guard ?? grows);
  }

  async #confirmed(command: Taking, reply: Reply): Promise<Reply> {
    if (reply.status !== 'granted') return reply;
    const left = await new Promise<number>((resolve, reject) => {
      this.#grants.push({ command, resolve, reject });
      if (this.#grants.length === 1) afterTurn(() => this.#flush());
    });
    // the renewal came after the request, so the time counts from the request
    return { ...reply, left: Math.max(reply.left, left) };
  }

  #flush(): void {
    const { shardOf } = this.#below;
    const parts = new Map<string, Grant[]>();
    for (const grant of this.#grants.splice(0)) {
      const { key, ttl, retention } = grant.command;
      const name = `${ttl} ${retention} ${shardOf?.(key) ?? ''}`;
      const part = parts.get(name);
      if (part === undefined) parts.set(name, [grant]);
      else part.push(grant);
    }
    for (const part of parts.values()) {
      for (let from = 0; from < part.length; from += MANY) {
        void this.#confirm(part.slice(from, from + MANY));
      }
    }
  }

  async #confirm(grants: readonly Grant[]): Promise<void> {
    const [{ command }] = grants as [Grant];
    const { ttl, retention } = command;
    const keys = grants.map((one) => one.command.key);
    const ids = grants.map((one) => one.command.id);
    try {
      const [answer] = this.#storeFor(this.#guard ?? ttl).execute([
        { op: 'renewMany', keys, ids, ttl, retention },
      ]) as [Promise<RenewManyReply>];
      const { left, failure } = await answer;
      for (const [at, { resolve, reject }] of grants.entries()) {
        const one = left[at] as number;
        if (one > 0) resolve(one);
        else reject(one < 0 && failure !== undefined ? kindOf(failure) : gone());
      }
    } catch (error) {
      for (const { reject } of grants) reject(kindOf(error as Error));
    }
  }

  #storeFor(age: number): RedisStore {
    let store = this.#confirming.get(age);
    if (store === undefined) {
      const { oneServer } = this.#acknowledging;
      store = new RedisStore(this.#port.confirming(age), this.#prefix, oneServer);
      if (this.#confirming.size >= AGES_MAX) this.#confirming.clear();
      this.#confirming.set(age, store);
    }
    return store;
  }
}

function kindOf(error: Error): Error {
  if (!error.message.startsWith(TOO_FEW)) return error;
  return new StoreFailure(error.message, 'unacknowledged', undefined);
}

function gone(): StoreFailure {
  const message = 'the server lost the grant before its replicas had it';
  return new StoreFailure(message, 'unanswered', undefined);
}
