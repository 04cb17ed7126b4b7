/**
 * Tells other programs over HTTP which machine leads.
 *
 *     GET /         { "name", "leads", "leader", "reachable" }; the leader is null or has
 *                   { "id", "term", "label", "host", "pid", "ledFor" }
 *     GET /leads    200 if this process leads, 503 otherwise: for a load balancer or a probe
 *     GET /events   the same object as /, as server-sent events: at once, and after each change;
 *                   503 for more than 100 listeners
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Election, Holdfast, Leader } from 'holdfast';
import { EXIT, Failure } from './failure.js';
import { json as toJson } from './view/words.js';

const EVERY_MS = 500;
/** So that a proxy does not close a connection without events. */
const COMMENT_MS = 15_000;
/** Pages that listen at a time, and the bytes that one may leave unread before it is closed. */
const LISTENERS_MAX = 100;
const UNREAD_MAX = 64 * 1024;
const EVENTS = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' };

export interface LeaderPage {
  readonly url: string;
  /** Tells whether this process leads. */
  readonly leads: (leads: boolean) => void;
  readonly close: () => Promise<void>;
}

/** The leader and the listeners. */
class Board {
  readonly #name: string;
  readonly #listeners = new Set<ServerResponse>();
  #leader: Leader | null = null;
  /** When the leader was looked at. */
  #seenAt = 0;
  #reachable = true;
  leads = false;

  constructor(name: string) {
    this.#name = name;
  }

  get text(): string {
    const { leads } = this;
    const seen = this.#leader;
    const since = Math.round(performance.now() - this.#seenAt);
    const leader = seen && { ...seen, ledFor: seen.ledFor + since };
    return toJson({ name: this.#name, leads, leader, reachable: this.#reachable });
  }

  /** Notes the leader; `undefined` if the store does not answer. */
  see(leader: Leader | null | undefined): void {
    const [before, reachable] = [this.#leader?.term, this.#reachable];
    this.#leader = leader ?? null;
    this.#seenAt = performance.now();
    this.#reachable = leader !== undefined;
    if (before !== this.#leader?.term || reachable !== this.#reachable) this.tell();
  }

  tell(): void {
    for (const listener of this.#listeners) send(listener, `data: ${this.text}\n\n`);
  }

  listen(response: ServerResponse): void {
    if (this.#listeners.size >= LISTENERS_MAX) return void response.writeHead(503).end();
    response.writeHead(200, EVENTS).write(`data: ${this.text}\n\n`);
    this.#listeners.add(response);
    const comment = setInterval(() => send(response, ':\n\n'), COMMENT_MS);
    response.once('close', () => {
      clearInterval(comment);
      this.#listeners.delete(response);
    });
  }
}

function send(listener: ServerResponse, text: string): void {
  if (listener.writableLength > UNREAD_MAX) listener.destroy();
  else listener.write(text);
}

/** Starts to serve. Rejects if the address cannot be used. */
export async function serveLeader(
  holdfast: Holdfast,
  name: string,
  address: { readonly host: string; readonly port: number },
): Promise<LeaderPage> {
  const board = new Board(name);
  const server = createServer((request, response) => answer(board, request, response));
  await listening(server, address);
  const stop = new AbortController();
  const election = holdfast.election(name);
  const observed = observe(election, board, stop.signal);
  const { address: host, family, port } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${host}]` : host}:${port}/`,
    leads: (leads) => {
      if (board.leads === leads) return;
      board.leads = leads;
      board.tell();
      // the observation would see it some time later
      void election.leader().then(
        (leader) => board.see(leader),
        () => board.see(undefined),
      );
    },
    close: async () => {
      stop.abort();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await observed;
    },
  };
}

function listening(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', ({ message }) => {
      reject(new Failure(EXIT.unavailable, `--http: ${message}`, 'choose another port'));
    });
    server.listen(port, host, resolve);
  });
}

function answer(board: Board, { method, url = '/' }: IncomingMessage, to: ServerResponse): void {
  const path = url.split('?')[0];
  const json = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  if (method !== 'GET' && method !== 'HEAD') to.writeHead(405, { allow: 'GET, HEAD' }).end();
  else if (path === '/') to.writeHead(200, json).end(board.text);
  else if (path === '/leads') to.writeHead(board.leads ? 200 : 503, json).end(board.text);
  else if (path === '/events' && method === 'HEAD') to.writeHead(200, EVENTS).end();
  else if (path === '/events') board.listen(to);
  else to.writeHead(404).end();
}

/** Follows the leader until the signal aborts. */
async function observe(election: Election, board: Board, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const leader of election.observe({ signal, every: EVERY_MS })) board.see(leader);
      return;
    } catch {
      board.see(undefined);
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  }
}
