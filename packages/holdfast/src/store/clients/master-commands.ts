/**
 * The commands for the present master of a Sentinel client of node-redis, in order.
 *
 *     idle --a command--> asking for the master --known--> sending --all answered--> idle
 *                                   ^--READONLY, the refused commands first--/
 *
 * With `sendCommand`, a command waits for the answer to an earlier one, and a later one may
 * overtake it. So commands go to the master's client directly, during one call of `_execute`. That
 * would keep them for seconds, and ask the sentinels without a pause, while the master is not
 * connected: they are rejected until a master is known, and the caller repeats them.
 */
import { COMMAND_OPTIONS, type NodeRedisLike } from './node-redis.js';

export interface MasterFinder {
  on(event: 'topology-change', listener: (change: { type: string }) => void): unknown;
  /** Calls `use` with the present master's client, and again if it rejects with READONLY. */
  _execute<T>(isReadonly: boolean, use: (master: NodeRedisLike) => Promise<T>): Promise<T>;
}

interface Pending {
  readonly words: readonly string[];
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Master = NodeRedisLike & { readonly isReady?: boolean };

const all = new WeakMap<MasterFinder, MasterCommands>();

export class MasterCommands {
  readonly #client: MasterFinder;
  #queue: Pending[] = [];
  #master: Master | undefined;
  #flush: (() => void) | undefined;
  #looking = false;

  private constructor(client: MasterFinder) {
    this.#client = client;
    client.on('topology-change', ({ type }) => {
      if (type === 'MASTER_CHANGE') this.#master = undefined;
    });
  }

  /** One for each client, because it keeps a listener. */
  static of(client: MasterFinder): MasterCommands {
    const known = all.get(client) ?? new MasterCommands(client);
    all.set(client, known);
    return known;
  }

  async master(): Promise<NodeRedisLike> {
    if (this.#master?.isReady === false) throw notConnected();
    return this.#client._execute(false, async (master: Master) => {
      this.#master = master;
      return master;
    });
  }

  send(words: readonly string[]): Promise<unknown> {
    if (this.#master?.isReady === false) return Promise.reject(notConnected());
    const answer = new Promise((resolve, reject) => this.#queue.push({ words, resolve, reject }));
    this.#flush?.();
    if (!this.#looking) void this.#look();
    return answer;
  }

  async #look(): Promise<void> {
    this.#looking = true;
    try {
      await this.#client._execute(false, (master: Master) => this.#use(master));
    } catch (error) {
      for (const { reject } of this.#queue.splice(0)) reject(error);
    }
    this.#looking = false;
    if (this.#queue.length > 0) void this.#look();
  }

  #use(master: Master): Promise<void> {
    this.#master = master;
    let open = 0;
    let refusal: Error | undefined;
    const again: Pending[] = [];
    return new Promise((resolve, reject) => {
      const settled = (): void => {
        open -= 1;
        if (open > 0) return;
        this.#flush = undefined;
        this.#queue.unshift(...again);
        if (refusal === undefined) resolve();
        else reject(refusal);
      };
      const failed = (pending: Pending, error: unknown): void => {
        if (error instanceof Error && error.message.startsWith('READONLY')) {
          refusal = error;
          again.push(pending);
        } else {
          pending.reject(error);
        }
        settled();
      };
      this.#flush = () => {
        // the refused ones come first, at the next master
        if (refusal !== undefined) return;
        for (const pending of this.#queue.splice(0)) {
          open += 1;
          master.sendCommand(pending.words, COMMAND_OPTIONS).then(
            (reply) => {
              pending.resolve(reply);
              settled();
            },
            (error: unknown) => failed(pending, error),
          );
        }
      };
      this.#flush();
      if (open === 0) {
        this.#flush = undefined;
        resolve();
      }
    });
  }
}

function notConnected(): Error {
  return new Error('the Sentinel client is not connected to a master');
}
