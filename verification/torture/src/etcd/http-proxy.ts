/**
 * A proxy of one process in front of one member of etcd. It knows requests and the lines of
 * watches, and injects faults. It also writes the header `Date`, by a clock that can be wrong.
 */
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server as Listener,
  type ServerResponse,
} from 'node:http';
import { type Faults, ProxyFaults } from '../proxy-faults.js';

/** The wall clock of a member, in ms. */
export type MemberClock = () => number;

interface Watch {
  readonly response: ServerResponse;
  isSilent: boolean;
}

export class HttpProxy extends ProxyFaults implements AsyncDisposable {
  readonly port: number;
  readonly #target: URL;
  readonly #clock: MemberClock;
  readonly #listener: Listener;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #watches = new Set<Watch>();
  /** Bytes were lost, so the connections of these cannot continue. */
  readonly #damaged = new Set<ServerResponse>();
  #held: (() => void)[] = [];
  #isClosed = false;

  private constructor(listener: Listener, target: string, clock: MemberClock) {
    super();
    this.#listener = listener;
    this.#target = new URL(target);
    this.#clock = clock;
    this.port = (listener.address() as { port: number }).port;
    listener.on('request', (asked, response) => void this.#serve(asked, response));
  }

  /** @param target the URL of the member */
  static async start(target: string, clock: MemberClock): Promise<HttpProxy> {
    const listener = createServer({ keepAliveTimeout: 60_000 });
    await new Promise<void>((resolve, reject) => {
      listener.once('error', reject);
      listener.listen(0, '127.0.0.1', resolve);
    });
    return new HttpProxy(listener, target, clock);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  repeat(repeats: Faults['repeats']): void {
    this.faults.repeats = repeats;
  }

  /** The present watches lose all bytes, and stay open. */
  silenceWatches(): void {
    for (const watch of this.#watches) watch.isSilent = true;
  }

  /** How many requests it holds back. */
  get held(): number {
    return this.#held.length;
  }

  /** How many requests or answers it has lost; their connections are open. */
  get lost(): number {
    return this.#damaged.size;
  }

  cut(): void {
    this.#listener.closeAllConnections();
  }

  /** Ends all connections, and takes none. */
  refuse(): void {
    this.#listener.close();
    this.cut();
  }

  override heal(): void {
    super.heal();
    for (const response of this.#damaged) response.destroy();
    this.#damaged.clear();
    for (const go of this.#held.splice(0)) go();
    if (!this.#listener.listening && !this.#isClosed) this.#listener.listen(this.port, '127.0.0.1');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const closed = new Promise<void>((resolve) => this.#listener.close(() => resolve()));
    this.cut();
    this.#agent.destroy();
    await closed;
  }

  async #serve(asked: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    let body: Buffer;
    try {
      body = Buffer.concat(await asked.toArray());
    } catch {
      // the client has gone
      return;
    }
    const { requests, holds, repeats } = this.faults;
    if (requests) return void this.#damaged.add(response);
    if (holds) await new Promise<void>((resolve) => this.#held.push(resolve));
    const again = repeats();
    if (again !== undefined) setTimeout(() => this.#forward(asked, body), again);
    this.#forward(asked, body, response);
  }

  /** @param response undefined: the answer is dropped */
  #forward(asked: IncomingMessage, body: Buffer, response?: ServerResponse): void {
    const { method, url: path = '/', headers } = asked;
    const { hostname, port } = this.#target;
    const isWatch = path === '/v3/watch';
    if (isWatch && response === undefined) return;
    const sent = request({ hostname, port, method, path, headers, agent: this.#agent });
    const fail = (): void => void response?.destroy();
    sent.on('error', fail);
    sent.on('response', (answer) => {
      answer.on('error', fail);
      if (response === undefined) return void answer.resume();
      response.writeHead(answer.statusCode ?? 502, {
        'content-type': answer.headers['content-type'] ?? 'text/plain',
        date: new Date(this.#clock()).toUTCString(),
      });
      if (isWatch) this.#stream(answer, response);
      else void this.#answer(answer, response);
    });
    if (isWatch) response?.on('close', () => sent.destroy());
    sent.end(body);
  }

  async #answer(answer: IncomingMessage, response: ServerResponse): Promise<void> {
    let body: Buffer;
    try {
      body = Buffer.concat(await answer.toArray());
    } catch {
      return;
    }
    const { replies, late, loses } = this.faults;
    const loss = loses();
    if (loss === 'cut') response.destroy();
    else if (replies || loss === 'silence') this.#damaged.add(response);
    else if (late > 0) setTimeout(() => response.end(body), late);
    else response.end(body);
  }

  /** Passes the lines of a watch on. */
  #stream(answer: IncomingMessage, response: ServerResponse): void {
    const watch: Watch = { response, isSilent: false };
    this.#watches.add(watch);
    response.on('close', () => this.#watches.delete(watch));
    response.flushHeaders();
    let rest = '';
    answer.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#pass(watch, `${line}\n`);
    });
    answer.on('end', () => {
      if (!watch.isSilent && !this.faults.replies) response.end();
    });
  }

  #pass(watch: Watch, line: string): void {
    const { messages, replies } = this.faults;
    if (watch.isSilent || (messages && line.includes('"events"'))) return;
    if (replies) this.#damaged.add(watch.response);
    else watch.response.write(line);
  }
}
