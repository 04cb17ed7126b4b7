/**
 * The commands for the present master of a Sentinel client of node-redis, in order.
 *
 *     idle --a command--> asking for the master --known--> sending --all answered--> idle
 *      \--the known master is connected--------------------^  \--READONLY--> asking, the refused
 *                                                                            commands first
 *
 * With `sendCommand`, a later command may overtake an earlier one: commands go to the master's
 * client. `_execute` finds it, but may keep commands for seconds, also if the master serves: it is
 * called if the master is unknown, closed or a replica. While that connects, commands are rejected.
 */
import { COMMAND_OPTIONS, type NodeRedisLike } from './node-redis.js';
import { notReady, watchErrors } from './state.js';

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

type Master = NodeRedisLike & { readonly isReady?: boolean; readonly isOpen?: boolean };

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
    const known = this.#known();
    if (known?.isReady === false) throw notConnected(known);
    if (known?.isReady === true) return known;
    return this.#client._execute(false, async (master: Master) => this.#found(master));
  }

  send(words: readonly string[]): Promise<unknown> {
    const known = this.#known();
    if (known?.isReady === false) return Promise.reject(notConnected(known));
    const answer = new Promise((resolve, reject) => this.#queue.push({ words, resolve, reject }));
    this.#flush?.();
    if (!this.#looking) void this.#look();
    return answer;
  }

  #known(): Master | undefined {
    if (this.#master?.isOpen === false) this.#master = undefined;
    return this.#master;
  }

  #found(master: Master): Master {
    watchErrors(master);
    this.#master = master;
    return master;
  }

  async #look(): Promise<void> {
    this.#looking = true;
    try {
      if (!(await this.#usedKnown())) {
        await this.#client._execute(false, (master: Master) => this.#use(this.#found(master)));
      }
    } catch (error) {
      for (const { reject } of this.#queue.splice(0)) reject(error);
    }
    this.#looking = false;
    if (this.#queue.length > 0) void this.#look();
  }

  async #usedKnown(): Promise<boolean> {
    const known = this.#known();
    if (known?.isReady !== true) return false;
    return this.#use(known).then(
      () => true,
      () => false,
    );
  }

  #use(master: Master): Promise<void> {
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

function notConnected(master: Master): Error {
  return new Error(notReady(master, 'not connected to the master', master.options?.socket));
}
