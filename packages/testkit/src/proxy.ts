/**
 * A TCP proxy in front of a server. It parses the protocol and injects network faults: replies lost
 * after the server has executed the command, delayed replies, silence in one direction or both, and
 * closed connections. It does not support TLS.
 */
import { createServer, type Server as Listener } from 'node:net';
import { HOST } from './ports.js';
import { Link, type Policy } from './proxy-link.js';
import { type AfterDrop, type Fate, type Match, type Rule, Rules } from './proxy-rules.js';

/** The server behind a proxy: a `Server` of this kit, or any host and port. */
export interface Target {
  host: string;
  port: number;
  url?: string;
}

/** A command that the proxy received, whether or not it was forwarded. */
export interface Logged {
  /** The number of its connection, counted from 1 in the order of acceptance. */
  link: number;
  /** The time of receipt, by `performance.now()`. */
  at: number;
  command: string[];
}

/** The direction in which bytes are dropped. */
export type Direction = 'both' | 'requests' | 'replies';

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
  /** The target's URL with the proxy's host and port. */
  readonly url: string;
  /** The last commands received, at most 10,000. */
  readonly log: Logged[] = [];
  /** Protocol errors; their connections were closed. */
  readonly problems: Error[] = [];
  readonly #listener: Listener;
  readonly #links = new Set<Link>();
  readonly #counts = new Map<string, number>();
  readonly #senders = new Map<string, Set<number>>();
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

  /** The number of connected clients. */
  get connections(): number {
    return [...this.#links].filter((link) => link.open).length;
  }

  /** The number of open connections that have lost bytes: `heal` closes them. */
  get damaged(): number {
    return [...this.#links].filter((link) => link.damaged).length;
  }

  /** The number of connections accepted so far. */
  get accepted(): number {
    return this.#accepted;
  }

  /** The number of commands held back. */
  get held(): number {
    return [...this.#links].reduce((sum, link) => sum + link.held, 0);
  }

  /** The number of commands with this name received so far. */
  count(name: string): number {
    return this.#counts.get(name.toLowerCase()) ?? 0;
  }

  /** Whether a connection has sent a command with this name. */
  hasSent(link: number, name: string): boolean {
    return this.#senders.get(name)?.has(link) === true;
  }

  /** Clears the log and the counts. */
  clearLog(): void {
    this.log.length = 0;
    this.#counts.clear();
  }

  /**
   * The server executes the command, and its reply is lost. By default this happens once, and the
   * connection is then closed.
   */
  dropReply(match: Match, options: { times?: number; after?: AfterDrop } = {}): Rule {
    const { times = 1, after = 'cut' } = options;
    return this.#fates.add(match, times, { after });
  }

  /**
   * Delays the reply and all later replies on that connection by `ms`. By default, every matching
   * reply.
   */
  delayReply(match: Match, ms: number, options: { times?: number } = {}): Rule {
    return this.#fates.add(match, options.times ?? Number.POSITIVE_INFINITY, { delay: ms });
  }

  /**
   * Drops a push (RESP3) or a message (RESP2); `match` gets words such as `['message', channel,
   * text]`. By default, every matching push.
   */
  dropPush(match: Match, options: { times?: number } = {}): Rule {
    return this.#pushes.add(match, options.times ?? Number.POSITIVE_INFINITY, true);
  }

  /**
   * Sends the command to the server a second time after `ms`, if the connection is still open. The
   * second reply is dropped. By default, every matching command.
   */
  duplicate(match: Match, ms: number, options: { times?: number } = {}): Rule {
    return this.#copies.add(match, options.times ?? Number.POSITIVE_INFINITY, ms);
  }

  /** Forwards new connections to another server; existing connections do not change. */
  redirect(target: Target): void {
    this.#target = target;
  }

  /** Holds back the commands of each connection from its first matching command on. */
  holdRequests(match: Match = () => true): void {
    this.#hold = match;
  }

  /** Forwards the held commands, including those of disconnected clients. */
  releaseRequests(): void {
    this.#hold = undefined;
    for (const link of this.#links) link.release();
  }

  /** Drops all bytes; connections stay open, and new ones are accepted. */
  blackhole(direction: Direction = 'both'): void {
    this.#lost.requests ||= direction !== 'replies';
    this.#lost.replies ||= direction !== 'requests';
  }

  /**
   * The present connections die silently: they stay open and lose all bytes, as behind a device
   * that has forgotten them. New connections work.
   * @param dies the numbers of connections; all of them without it
   */
  silence(dies: (link: number) => boolean = () => true): void {
    for (const link of this.#links) if (dies(link.id)) link.die();
  }

  /**
   * Ends every fault and every rule, and forwards held commands. A connection that lost bytes is
   * closed: TCP would have sent them again or failed, but never continued without them.
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

  /** Closes all connections. */
  cut(): void {
    for (const link of this.#links) link.cut();
  }

  /** Closes all connections with a reset (RST). */
  reset(): void {
    for (const link of this.#links) link.cut(true);
  }

  /** Resets new connections; existing connections stay open. */
  refuse(): void {
    this.#refuses = true;
  }

  /** Closes all connections and the listener. */
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
    this.#senders.set(name, (this.#senders.get(name) ?? new Set()).add(link));
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    this.log.push({ link, at: performance.now(), command });
    if (this.log.length > LOG_LIMIT) this.log.shift();
  }
}
