/**
 * Proxies between the members of etcd, which cut one of them off from the others. Clients still
 * reach it. A member names itself in its requests to another one, so a proxy knows both ends.
 */
import { connect, createServer, type Server as Listener, type Socket } from 'node:net';

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  /** The ids of the members at its ends, as far as they are known. */
  readonly to: () => string;
  from: string;
  /** Bytes were lost, so it cannot continue. */
  isDamaged: boolean;
}

/** All connections between members. */
export class PeerProxies implements AsyncDisposable {
  readonly #listeners: Listener[] = [];
  readonly #links = new Set<Link>();
  /** The ids of the members, in the order of their proxies. */
  ids: readonly string[] = [];
  #away: string | undefined;

  /** Starts the proxy of the next member. Resolves to its port. */
  async add(port: number): Promise<number> {
    const place = this.#listeners.length;
    const listener = createServer((socket) => this.#open(socket, port, place));
    this.#listeners.push(listener);
    await new Promise<void>((resolve, reject) => {
      listener.once('error', reject);
      listener.listen(0, '127.0.0.1', resolve);
    });
    return (listener.address() as { port: number }).port;
  }

  /** From now on, the connections of a member lose all bytes. */
  cutOff(id: string): void {
    this.#away = id;
  }

  heal(): void {
    this.#away = undefined;
    for (const link of this.#links) if (link.isDamaged) close(link);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const link of this.#links) close(link);
    await Promise.all(
      this.#listeners.map((one) => new Promise<void>((resolve) => one.close(() => resolve()))),
    );
  }

  #open(client: Socket, port: number, place: number): void {
    const server = connect(port, '127.0.0.1');
    const to = (): string => this.ids[place] ?? '';
    const link: Link = { client, server, to, from: '', isDamaged: false };
    this.#links.add(link);
    client.on('data', (bytes) => {
      link.from ||= /\r\nX-Server-From: *(\w+)/i.exec(bytes.toString('latin1'))?.[1] ?? '';
      this.#pass(link, server, bytes);
    });
    server.on('data', (bytes) => this.#pass(link, client, bytes));
    for (const socket of [client, server]) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        close(link);
        this.#links.delete(link);
      });
    }
  }

  #pass(link: Link, target: Socket, bytes: Buffer): void {
    const isCut = this.#away !== undefined && [link.from, link.to()].includes(this.#away);
    if (isCut || link.isDamaged) link.isDamaged = true;
    else target.write(bytes);
  }
}

function close({ client, server }: Link): void {
  client.destroy();
  server.destroy();
}
