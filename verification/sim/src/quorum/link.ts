/** The way from one process to one server of a quorum. */
import type { Acceptor } from '../../../../packages/holdfast/dist/store/quorum/acceptor.js';
import type { Line } from '../common/line.js';
import type { MarkerName, Node } from './node.js';

export class Link implements Acceptor {
  readonly label = 'simulated';
  readonly #server: Acceptor;
  readonly #line: Line;

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

  subscribe: Acceptor['subscribe'] = (channel, listener) => {
    const message = (text: string): void => this.#line.deliver(() => listener.message(text));
    const up = (): void => listener.up();
    const down = (): void => listener.down();
    return this.#server.subscribe(channel, { message, up, down });
  };
}
