/** The way from one process to one server of a quorum. A test decides which messages arrive. */
import type { Micros } from '../../src/engine/commands.js';
import type { Acceptor, Asker, Proposal, Vote } from '../../src/store/quorum/acceptor.js';
import type { MemoryAcceptor } from '../../src/store/quorum/memory-acceptor.js';

type Request = 'prepare' | 'accept' | 'look' | 'check';

export class Link implements Acceptor {
  readonly label = 'link';
  readonly #to: MemoryAcceptor;
  /** What happens to a request: it arrives, is lost, or its answer is lost. */
  fate: (request: Request) => 'arrives' | 'lost' | 'unanswered' = () => 'arrives';
  /** The connection; another value after it was replaced. */
  line = 1;
  readonly sent = { prepare: 0, accept: 0, look: 0, check: 0 };

  constructor(to: MemoryAcceptor) {
    this.#to = to;
  }

  connection(): unknown {
    return this.line;
  }

  prepare(key: string, ballot: string, now: Micros, asker?: Asker): Promise<Vote> {
    return this.#send('prepare', () => this.#to.prepare(key, ballot, now, asker));
  }

  look(key: string, now: Micros): Promise<Vote> {
    return this.#send('look', () => this.#to.look(key, now));
  }

  accept(key: string, proposal: Proposal): Promise<Vote> {
    return this.#send('accept', () => this.#to.accept(key, proposal));
  }

  check: Acceptor['check'] = (terms) => this.#send('check', () => this.#to.check(terms));
  subscribe: Acceptor['subscribe'] = (channel, listener) => this.#to.subscribe(channel, listener);
  collect: Acceptor['collect'] = (key, channel) => this.#to.collect(key, channel);
  keys: Acceptor['keys'] = (prefix) => this.#to.keys(prefix);

  #send<T>(request: Request, send: () => Promise<T>): Promise<T> {
    this.sent[request] += 1;
    const fate = this.fate(request);
    const never = new Promise<T>(() => undefined);
    if (fate === 'lost') return never;
    const answer = send();
    return fate === 'unanswered' ? never : answer;
  }
}
