/**
 * The first request of a process is sent before its client is connected, and its answer is slow. It
 * was sent once if that connection lasts, so nothing is released a second time.
 */
import { type Proxy, type Server, sleep, startProxy, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { Holdfast, quorum } from '../../src/index.js';
import { membersOf, stopServersAfterwards } from '../support/backends.js';
import { freshKey } from '../suites/helpers.js';

stopServersAfterwards();

/** Longer than a reconnect, so the request may have been sent twice for what the time tells. */
const SLOW_MS = 60;

const isScript = ([name = '']: readonly string[]): boolean => /^eval(sha)?$/i.test(name);

/** An instance whose only lock was the first request of its clients. */
class Process implements AsyncDisposable {
  readonly #proxies: readonly Proxy[];
  readonly #clients: readonly Redis[];
  readonly #holdfast: Holdfast;
  readonly #key = freshKey();

  private constructor(proxies: readonly Proxy[], lazyConnect: boolean) {
    this.#proxies = proxies;
    this.#clients = proxies.map(({ host, port }) => new Redis(port, host, { lazyConnect }));
    const [client] = this.#clients as [Redis];
    // a request without an answer in time may have copies, whatever its connection
    const requestTimeout = 20_000;
    const settings = { durable: true, serverTimeout: requestTimeout };
    const store = this.#clients.length === 1 ? client : quorum(this.#clients, settings);
    this.#holdfast = new Holdfast(store, { requestTimeout });
  }

  static async start(
    servers: readonly Server[],
    { lazyConnect = false, cut = false } = {},
  ): Promise<Process> {
    const proxies = await Promise.all(servers.map((server) => startProxy(server)));
    const process = new Process(proxies, lazyConnect);
    for (const proxy of proxies) {
      if (cut) proxy.dropReply((words) => process.#names(words));
      else proxy.delayReply((words) => process.#names(words), SLOW_MS);
    }
    await (await process.#holdfast.mutex(process.#key).acquire()).release();
    await process.#settled();
    return process;
  }

  /** A majority has answered; the others get votes, also those that follow from their answers. */
  async #settled(): Promise<void> {
    for (let before = -1; before !== this.sent; ) {
      before = this.sent;
      await Promise.all(this.#clients.map((client) => client.ping()));
      await sleep(2 * SLOW_MS);
    }
  }

  /** The calls of scripts for the lock, on all servers. */
  get sent(): number {
    const commands = this.#proxies.flatMap(({ log }) => log.map(({ command }) => command));
    return commands.filter((words) => this.#names(words)).length;
  }

  #names(words: readonly string[]): boolean {
    return isScript(words) && words.some((word) => word.includes(this.#key));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#holdfast.close();
    for (const client of this.#clients) client.disconnect();
    for (const proxy of this.#proxies) await proxy[Symbol.asyncDispose]();
  }
}

describe.each([
  ['one server', 1],
  ['a quorum of three', 3],
])('on %s', (_, servers) => {
  it.each([
    ['that connects at once', false],
    ['that connects with its first command', true],
  ])('a client %s releases its first lock once, if its connection lasts', async (_, lazy) => {
    const all = (await membersOf(3)).slice(0, servers);
    await using kept = await Process.start(all, { lazyConnect: lazy });
    const { sent } = kept;
    // the control: possible copies are released half a second after the first release
    await using lost = await Process.start(all.slice(0, 1), { cut: true });
    const before = lost.sent;
    await until(() => lost.sent > before);
    expect(kept.sent).toBe(sent);
  });
});
