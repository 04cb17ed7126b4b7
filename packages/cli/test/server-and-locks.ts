/** A server, the library on it, and commands that the program runs on it. */
import { Holdfast } from 'holdfast';
import { type Server, startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { Cli, type CliOptions } from './cli.js';

/** The shortest useful time between SIGTERM and SIGKILL. */
export const QUICK: readonly string[] = ['--kill-after', '150ms'];
/** Prints its process id and runs until it is ended. */
export const LOOP = 'echo pid $$; while :; do sleep 0.02; done';

export class ServerAndLocks {
  readonly server: Server;
  readonly holdfast: Holdfast;
  readonly #client: Redis;

  private constructor(server: Server) {
    this.server = server;
    this.#client = new Redis(server.url);
    this.holdfast = new Holdfast(this.#client);
  }

  static async start(): Promise<ServerAndLocks> {
    return new ServerAndLocks(await startServer({ server: 'redis' }));
  }

  /** Starts `holdfast run` with a command in the language of the shell. */
  run(key: string, args: readonly string[], text: string, options?: CliOptions): Cli {
    const env = { REDIS_URL: this.server.url, ...options?.env };
    return new Cli(['run', key, ...args, '--', 'sh', '-c', text], { ...options, env });
  }

  async stop(): Promise<void> {
    await this.holdfast.close();
    this.#client.disconnect();
    await this.server.stop();
  }
}

/** The process id that a command printed. */
export async function pidOf(program: Cli): Promise<number> {
  return Number((await program.shows(/pid (\d+)\n/))[1]);
}
