/** The arguments of a quorum, and what its servers must not be. */
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { describe, expect, it } from 'vitest';
import { Holdfast, memory, quorum, type QuorumOptions } from '../../src/index.js';
import type { ServerStatus } from '../../src/store/quorum/acceptor.js';
import { refusalOf } from '../../src/store/quorum/refusals.js';

const client = (): Redis => new Redis({ lazyConnect: true });
const three = [client(), createClient(), client()];

/** The error of a call, which must name an option. */
function bad(call: () => unknown, option: string): string {
  try {
    call();
  } catch (error) {
    expect(error).toMatchObject({ code: 'HOLDFAST_BAD_OPTION', option });
    return (error as Error).message;
  }
  throw new Error('it was accepted');
}

describe('the clients', () => {
  it('may be of both libraries, in a list or in a quorum', () => {
    expect(new Holdfast(three)).toBeInstanceOf(Holdfast);
    expect(new Holdfast(quorum(three, { restartGuard: 0 }))).toBeInstanceOf(Holdfast);
  });

  it.each([[0], [1], [2], [4], [17]])('must not be %d', (count) => {
    const clients = Array.from({ length: count }, client);
    expect(bad(() => new Holdfast(clients), 'where')).toMatch(
      /an odd number .* not \d+: a majority/,
    );
    bad(() => quorum(clients), 'clients');
  });

  it('must be clients, and each another one', () => {
    const [first, second] = [client(), client()];
    bad(() => new Holdfast([first, second, first]), 'where[2]');
    bad(() => quorum([first, {} as Redis, second]), 'clients[1]');
    bad(() => quorum([first, memory() as never, second]), 'clients[1]');
    bad(() => quorum('redis://a' as never), 'clients');
  });
});

it.each<[string, QuorumOptions]>([
  ['serverTimeout', { serverTimeout: 1 }],
  ['restartGuard', { restartGuard: -1 }],
  ['minValidity', { minValidity: 86_400_001 }],
  ['durable', { durable: 1 as never }],
  ['timeout', { timeout: 5 } as QuorumOptions],
])('the option %s is checked', (option, options) => {
  bad(() => quorum(three, options), option);
});

describe('servers', () => {
  const server = (name: string, more: Partial<ServerStatus> = {}): ServerStatus => ({
    ...{ time: 1, runId: name, version: '8.0.1', role: 'master', replication: `r${name}` },
    ...{
      cluster: false,
      evicts: false,
      markedAt: 1,
      votesFrom: 1,
      uptime: 1,
      keeps: 0,
      partial: false,
    },
    ...{ boot: name, long: [], mark: 0, ...more },
  });

  it('that are independent are accepted, also if some are not known yet', () => {
    expect(refusalOf([server('a'), undefined, server('b'), server('c')])).toBeUndefined();
  });

  it.each<[RegExp, Partial<ServerStatus>]>([
    [/server 2 and server 1 are the same server/, { runId: 'a' }],
    [/server 2 and server 1 replicate the same data/, { replication: 'ra' }],
    [/server 2 is a replica \(role:slave\)/, { role: 'slave' }],
    [/server 2 is a node of a Redis Cluster, which spreads keys/, { cluster: true }],
    [/server 2 removes keys .* noeviction/, { evicts: true }],
    [/server 2 has version 6\.2\.7; a quorum needs 7\.0/, { version: '6.2.7' }],
  ])('are refused: %s', (text, more) => {
    expect(refusalOf([server('a'), server('b', more), undefined])).toMatch(text);
  });
});
