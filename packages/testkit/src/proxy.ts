/**
 * A TCP proxy in front of a server that understands what goes through it, and makes the faults that
 * a network makes: replies that are lost after the server acted, late ones, silence in one
 * direction or both, cuts. It speaks no TLS.
 */
import { createServer, type Server as Listener } from 'node:net';
import { Link, type Policy } from './proxy-link.js';
import { type AfterDrop, type Fate, type Match, type Rule, Rules } from './proxy-rules.js';

/** Where a proxy leads to: a `Server` of this kit, or any host and port. */
export interface Target {
  host: string;
  port: number;
  url?: string;
}

/** A command that came to the proxy, whether or not it went on to the server. */
export interface Logged {
  /** Which connection it came by: 1 is the first one that was accepted. */
  link: number;
  /** As of `performance.now()`. */
  at: number;
  command: string[];
}

/** Which way bytes vanish. */
export type Direction = 'both' | 'requests' | 'replies';

const HOST = '127.0.0.1';
const LOG_LIMIT = 10_000;

/** Starts a proxy on a free port of the loopback. */
export async function startProxy(target: Target): Promise<Proxy> {
  const listener = createServer();
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject);
    listener.listen(0, HOST, resolve);
  });
  return new Proxy(listener, target);
}

/** A running proxy. `await using` closes it. */
export class Proxy implements AsyncDisposable {
  readonly host: string = HOST;
  readonly port: number;
  /** The target's URL with the proxy's address in it. */
  readonly url: string;
  /** The last commands that came, at most 10,000. */
  readonly log: Logged[] = [];
  /** Streams that were not understood; their connections were cut. */
  readonly problems: Error[] = [];
  readonly #listener: Listener;
  readonly #links = new Set<Link>();
  readonly #counts = new Map<string, number>();
  readonly #fates = new Rules<Fate>();
  readonly #pushes = new Rules<true>();
  readonly #copies = new Rules<number>();
  #target: Target;
  readonly #lost = { requests: false, replies: false };
  #hold: Match | undefined;
  #refuses = false;
  #accepted = 0;

  /** @internal */
  constructor(listener: Listener, target: Target) {
    this.#listener = listener;
    this.port = (listener.address() as { port: number }).port;
    const url = new URL(target.url ?? `redis://${target.host}`);
    url.host = `${HOST}:${this.port}`;
    this.url = url.href;
    this.#target = target;
    const policy = this.#policy();
    listener.on('error', (error) => this.problems.push(error));
    listener.on('connection', (socket) => {
      if (this.#refuses) {
        socket.on('error', () => undefined);
        socket.resetAndDestroy();
        return;
      }
      this.#accepted += 1;
      this.#links.add(new Link(this.#accepted, socket, policy));
    });
  }

  /** How many clients are connected now. */
  get connections(): number {
    return [...this.#links].filter((link) => link.open).length;
  }

  /** How many connections were ever let in. */
  get accepted(): number {
    return this.#accepted;
  }

  /** How many commands are held back now. */
  get held(): number {
    return [...this.#links].reduce((sum, link) => sum + link.held, 0);
  }

  /** How often a command of this name came. */
  count(name: string): number {
    return this.#counts.get(name.toLowerCase()) ?? 0;
  }

  /** Forgets the log and the counts. */
  clearLog(): void {
    this.log.length = 0;
    this.#counts.clear();
  }

  /**
   * The server acts on the command, the client never learns of it. Once, and then a cut, unless
   * told otherwise.
   */
  dropReply(match: Match, options: { times?: number; after?: AfterDrop } = {}): Rule {
    const { times = 1, after = 'cut' } = options;
    return this.#fates.add(match, times, { after });
  }

  /**
   * The reply comes `ms` later, and with it everything behind it on that connection. Each time by
   * default.
   */
  delayReply(match: Match, ms: number, options: { times?: number } = {}): Rule {
    return this.#fates.add(match, options.times ?? Number.POSITIVE_INFINITY, { delay: ms });
  }

  /**
   * A push (RESP3) or a message (RESP2) is lost; its words are such as `['message', channel,
   * text]`.
   */
  dropPush(match: Match, options: { times?: number } = {}): Rule {
    return this.#pushes.add(match, options.times ?? Number.POSITIVE_INFINITY, true);
  }

  /**
   * The command reaches the server a second time, `ms` later if the connection still lives; nobody
   * hears the second reply. Each time by default.
   */
  duplicate(match: Match, ms: number, options: { times?: number } = {}): Rule {
    return this.#copies.add(match, options.times ?? Number.POSITIVE_INFINITY, ms);
  }

  /** New connections lead to another server from now on; those that there are go on as they are. */
  lead(target: Target): void {
    this.#target = target;
  }

  /** From the first matching command of a connection on, its commands wait in the proxy. */
  holdRequests(match: Match = () => true): void {
    this.#hold = match;
  }

  /** What was held goes on to the server, also that of clients which are gone. */
  releaseRequests(): void {
    this.#hold = undefined;
    for (const link of this.#links) link.release();
  }

  /** Bytes vanish, connections stay open, and new ones are accepted. */
  blackhole(direction: Direction = 'both'): void {
    this.#lost.requests ||= direction !== 'replies';
    this.#lost.replies ||= direction !== 'requests';
  }

  /**
   * Ends every fault and every rule. Held commands go on. A connection that lost something is cut:
   * TCP would have repeated it or given up, never have gone on without it.
   */
  heal(): void {
    this.#lost.requests = false;
    this.#lost.replies = false;
    this.#hold = undefined;
    this.#refuses = false;
    this.#fates.clear();
    this.#pushes.clear();
    this.#copies.clear();
    for (const link of this.#links) link.heal();
  }

  /** Ends all connections that there are. */
  cut(): void {
    for (const link of this.#links) link.cut();
  }

  /** New connections are reset; those that there are go on. */
  refuse(): void {
    this.#refuses = true;
  }

  /** Ends everything. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#listener.close(() => resolve()));
    this.#refuses = true;
    this.cut();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #policy(): Policy {
    return {
      target: () => this.#target,
      lost: this.#lost,
      seen: (link, command) => this.#seen(link, command),
      holds: (command) => this.#hold?.(command) ?? false,
      fate: (command) => this.#fates.apply(command),
      copies: (command) => this.#copies.apply(command),
      dropsPush: (message) => this.#pushes.apply(message) ?? false,
      closed: (link) => this.#links.delete(link),
      problem: (error) => this.problems.push(error),
    };
  }

  #seen(link: number, command: string[]): void {
    const name = command[0]?.toLowerCase();
    if (name === undefined) return;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    this.log.push({ link, at: performance.now(), command });
    if (this.log.length > LOG_LIMIT) this.log.shift();
  }
}
