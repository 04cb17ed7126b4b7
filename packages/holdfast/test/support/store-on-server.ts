/** A real server for the tests of a file, and a store on it. */
import { type Server, type ServerName, startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { portFor } from '../../src/store/clients/detect.js';
import { RedisStore } from '../../src/store/redis/redis-store.js';

/** Starts before the first test and stops after the last one. */
export class StoreOnServer {
  readonly #prefix: string;
  #server: Server | undefined;
  #redis: Redis | undefined;
  #store: RedisStore | undefined;

  constructor(name: ServerName, prefix: string) {
    this.#prefix = prefix;
    beforeAll(async () => {
      this.#server = await startServer({ server: name });
      this.#redis = new Redis(this.#server.port, this.#server.host);
      this.renew();
    });
    afterAll(async () => {
      this.#redis?.disconnect();
      await this.#server?.stop();
    });
  }

  get server(): Server {
    return this.#server as Server;
  }

  get redis(): Redis {
    return this.#redis as Redis;
  }

  get store(): RedisStore {
    return this.#store as RedisStore;
  }

  /** A new store, which knows nothing of the calls before; also on another server. */
  renew(client: Redis = this.redis): void {
    this.#store = new RedisStore(portFor(client), this.#prefix);
  }

  /** The number of calls of some commands since the statistics were reset. */
  async calls(...commands: string[]): Promise<number[]> {
    const stats = await this.server.commandstats();
    return commands.map((command) => stats.get(command)?.calls ?? 0);
  }
}
