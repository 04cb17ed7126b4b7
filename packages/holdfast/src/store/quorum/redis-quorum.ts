/** The quorum store on servers of Redis or Valkey. Loaded at the first use of a quorum. */
import type { ClientPort } from '../clients/port.js';
import { QuorumStore } from './quorum-store.js';
import { RedisAcceptor } from './redis-acceptor.js';

export interface RedisQuorumParts {
  readonly ports: readonly ClientPort[];
  readonly timeout: number;
  readonly guard: number;
  readonly durable: boolean;
  readonly minValidity: number;
}

export function redisQuorum({ ports, ...parts }: RedisQuorumParts, prefix: string): QuorumStore {
  const acceptors = (marker: string): RedisAcceptor[] =>
    ports.map((port) => new RedisAcceptor(port, marker));
  return new QuorumStore({ ...parts, acceptors }, prefix);
}
