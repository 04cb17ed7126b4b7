/** An instance on one server, or on a quorum of several. */
import { Holdfast, type HoldfastOptions, quorum } from 'holdfast';
import { Redis } from 'ioredis';

export interface Connected {
  readonly holdfast: Holdfast;
  readonly clients: readonly Redis[];
}

export function connected(ports: readonly number[], options: HoldfastOptions = {}): Connected {
  const clients = ports.map((port) => new Redis({ host: '127.0.0.1', port }));
  const store = clients.length > 1 ? quorum(clients, { durable: true }) : (clients[0] as Redis);
  return { holdfast: new Holdfast(store, options), clients };
}
