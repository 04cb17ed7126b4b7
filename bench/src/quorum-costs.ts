/**
 * The costs of a load on several servers: requests, rounds, and CPU time. Wall time on a shared
 * machine says little, and these do not depend on other programs.
 */
import type { Server } from 'holdfast-testkit';
import type { Redis } from 'ioredis';

/** Totals since the start of a load. */
export interface Costs {
  /** Script calls of all servers. */
  readonly scripts: number;
  /** Ballots that were sent to any server, which are the rounds. */
  readonly rounds: number;
  /** Time inside scripts, CPU time of all servers, and of this process, in µs. */
  readonly scriptTime: number;
  readonly servers: number;
  readonly client: number;
}

/** The rounds of the clients that are watched. */
export class Rounds {
  count = 0;
  readonly #seen = new Set<string>();

  /** Counts the ballots that a client sends. Requests of one round have the same ballot. */
  watch(client: Redis): void {
    const send = client.sendCommand.bind(client);
    client.sendCommand = (command, ...rest) => {
      const [, , , , op, ballot] = command.args as string[];
      if (op === 'prepare' || op === 'accept') this.#note(`${op} ${ballot}`);
      return send(command, ...rest);
    };
  }

  #note(round: string): void {
    if (this.#seen.has(round)) return;
    if (this.#seen.size > 1000) this.#seen.clear();
    this.#seen.add(round);
    this.count += 1;
  }
}

const total = (text: string, pattern: RegExp): number => {
  let sum = 0;
  for (const [, found] of text.matchAll(pattern)) sum += Number(found);
  return sum;
};

/** Starts to measure. The returned function ends it. */
export async function measure(
  servers: readonly Server[],
  rounds: Rounds,
): Promise<() => Promise<Costs>> {
  const read = async (): Promise<Costs> => {
    const texts = await Promise.all(
      servers.map(async (server) => {
        return String(await server.command('INFO', 'commandstats', 'cpu'));
      }),
    );
    const all = texts.join('\n');
    const { user, system } = process.cpuUsage();
    return {
      scripts: total(all, /cmdstat_evalsha:calls=(\d+)/g),
      scriptTime: total(all, /cmdstat_evalsha:calls=\d+,usec=(\d+)/g),
      servers: 1e6 * total(all, /used_cpu_(?:user|sys):([\d.]+)/g),
      ...{ rounds: rounds.count, client: user + system },
    };
  };
  const start = await read();
  return async () => {
    const end = await read();
    const cost = {} as Record<keyof Costs, number>;
    for (const name of Object.keys(end) as (keyof Costs)[]) cost[name] = end[name] - start[name];
    return cost;
  };
}
