/**
 * A proxy that spreads keys over several servers, as twemproxy does: a command goes to the server
 * of its first key, whatever its other keys are; a command without a key goes to the first server.
 * It gives the replies in the order of the commands. It does not support TLS.
 */
import { connect, createServer, type Server as Listener, type Socket } from 'node:net';
import { HOST } from './ports.js';
import { decodeCommand, FrameSplitter } from './resp.js';

interface Target {
  readonly host: string;
  readonly port: number;
}

/** A reply that the client awaits. */
interface Slot {
  frame?: Buffer;
}

const SCRIPTS: ReadonlySet<string> = new Set(['EVAL', 'EVALSHA']);

/** Starts the proxy on a free port of the loopback. */
export async function startShardingProxy(servers: readonly Target[]): Promise<ShardingProxy> {
  const listener = createServer();
  await new Promise<void>((resolve) => void listener.listen(0, HOST, resolve));
  return new ShardingProxy(listener, servers);
}

/** A running proxy. `await using` closes it. */
export class ShardingProxy implements AsyncDisposable {
  readonly host: string = HOST;
  readonly port: number;
  readonly url: string;
  /** False: the first server has all keys. It concerns the commands from then on. */
  shards = true;
  /** If it is set, each command gets this error, as if no server were reached. */
  outage = '';
  readonly #listener: Listener;
  readonly #servers: readonly Target[];
  readonly #sockets = new Set<Socket>();

  /** @internal */
  constructor(listener: Listener, servers: readonly Target[]) {
    this.#listener = listener;
    this.#servers = servers;
    this.port = (listener.address() as { port: number }).port;
    this.url = `redis://${HOST}:${this.port}`;
    listener.on('connection', (client) => this.#serve(client));
  }

  /** The place of the server that has a key. */
  placeOf(key: string): number {
    if (!this.shards) return 0;
    let hash = 0;
    for (const char of key) hash = (hash * 31 + char.charCodeAt(0)) % 1_000_003;
    return hash % this.#servers.length;
  }

  /** Ends all connections. The clients may connect again. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#listener.close(resolve));
    this.cut();
    await closed;
  }

  #serve(client: Socket): void {
    const order: Slot[] = [];
    const requests = new FrameSplitter('requests');
    const waiting: Slot[][] = this.#servers.map(() => []);
    const upstreams = this.#servers.map(({ host, port }, place) => {
      const upstream = this.#opened(connect({ host, port, noDelay: true }), client);
      const replies = new FrameSplitter('replies');
      upstream.on('data', (chunk) => {
        for (const frame of replies.push(chunk)) {
          const slot = (waiting[place] as Slot[]).shift();
          // a message of a channel
          if (slot === undefined) client.write(frame);
          else slot.frame = frame;
        }
        while (order[0]?.frame !== undefined) client.write(order.shift()?.frame as Buffer);
      });
      return upstream;
    });
    this.#opened(client, ...upstreams).on('data', (chunk) => {
      for (const frame of requests.push(chunk)) {
        if (this.outage !== '') {
          client.write(`-${this.outage}\r\n`);
          continue;
        }
        const place = this.#placeOfCommand(decodeCommand(frame));
        const slot: Slot = {};
        order.push(slot);
        (waiting[place] as Slot[]).push(slot);
        (upstreams[place] as Socket).write(frame);
      }
    });
  }

  #placeOfCommand([name = '', first, count, key]: readonly string[]): number {
    if (SCRIPTS.has(name.toUpperCase())) return count === '0' ? 0 : this.placeOf(key as string);
    return first === undefined || /^(client|hello|info|subscribe)$/i.test(name)
      ? 0
      : this.placeOf(first);
  }

  /** A socket that ends together with others. */
  #opened(socket: Socket, ...others: Socket[]): Socket {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      for (const other of others) other.destroy();
    });
    return socket;
  }
}
