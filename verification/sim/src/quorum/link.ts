/** The way from one process to one server of a quorum. */
import type { Acceptor } from '../../../../packages/holdfast/dist/store/quorum/acceptor.js';
import type { Line } from '../common/line.js';
import type { MarkerName, Node } from './node.js';

type Listener = Parameters<Acceptor['subscribe']>[1];

export class Link implements Acceptor {
  readonly label = 'simulated';
  readonly #server: Acceptor;
  readonly #line: Line;
  readonly #open = new Map<string, { listener: Listener; close: () => Promise<void> }>();
  #isLost = false;

  constructor([node, marker]: readonly [Node, MarkerName], line: Line) {
    this.#server = node.acceptor(marker);
    this.#line = line;
  }

  connection(): unknown {
    return this.#line.connection;
  }

  prepare: Acceptor['prepare'] = (key, ballot, now, asker) => {
    return this.#line.send(() => this.#server.prepare(key, ballot, now, asker));
  };

  accept: Acceptor['accept'] = (key, proposal) => {
    return this.#line.send(() => this.#server.accept(key, proposal));
  };

  look: Acceptor['look'] = (key, now) => this.#line.send(() => this.#server.look(key, now));
  check: Acceptor['check'] = (terms) => this.#line.send(() => this.#server.check(terms));
  collect: Acceptor['collect'] = (key, channel) => {
    return this.#line.send(() => this.#server.collect(key, channel));
  };

  keys: Acceptor['keys'] = (prefix, within) => this.#server.keys(prefix, within);

  subscribe: Acceptor['subscribe'] = async (channel, listener) => {
    await this.#hear(channel, listener);
    return {
      close: async () => {
        await this.#open.get(channel)?.close();
        this.#open.delete(channel);
      },
    };
  };

  async #hear(channel: string, listener: Listener): Promise<void> {
    const message = (text: string): void => this.#line.deliver(() => listener.message(text));
    const up = (): void => listener.up();
    const down = (): void => listener.down();
    const opened = await this.#server.subscribe(channel, { message, up, down });
    this.#open.set(channel, { listener, close: () => opened.close() });
  }

  /** The server ends the subscriptions, and the process learns it unless it has crashed. */
  lose(crashed: boolean): void {
    if (this.#isLost) return;
    this.#isLost = true;
    for (const { listener, close } of this.#open.values()) {
      void close();
      if (!crashed) listener.down();
    }
  }

  /** The process subscribes again to what it lost. */
  async hearAgain(): Promise<void> {
    this.#isLost = false;
    for (const [channel, { listener }] of this.#open) {
      await this.#hear(channel, listener);
      listener.up();
    }
  }
}
