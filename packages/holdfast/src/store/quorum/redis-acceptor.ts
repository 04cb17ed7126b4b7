/** An acceptor on one Redis or Valkey server, through a client of the user. */
import { createHash } from 'node:crypto';
import type { ClientPort, ScriptCall } from '../../clients/port.js';
import type { Message, MessageListener } from '../register/register.js';
import type { Micros } from '../../engine/commands.js';
import { StoreFailure, type TimeLimit } from '../port.js';
import { failureOf, isNoScript } from '../redis/error-replies.js';
import { SOURCE } from './acceptor-script.js';
import type { Acceptor, GuardTerms, Proposal, ServerStatus, Vote } from './acceptor.js';

const SHA = createHash('sha1').update(SOURCE).digest('hex');
const SCAN_COUNT = 500;

/** A node of a cluster answers this for a key that another node has. */
const CLUSTER = /^(MOVED|ASK|CLUSTERDOWN|CROSSSLOT)\b/;

/** What is known of such a node. */
const CLUSTER_NODE: ServerStatus = {
  ...{ time: 0, runId: '', version: '', role: '', replication: '', cluster: true, evicts: false },
  ...{ markedAt: undefined, votesFrom: undefined, uptime: 0, keeps: 0 },
};

export class RedisAcceptor implements Acceptor {
  readonly label: string;
  readonly #client: ClientPort;
  readonly #marker: string;
  /** The calls of this turn, which are written together. */
  #calls: (ScriptCall & { readonly answer: (answer: Promise<unknown>) => void })[] = [];

  /** @param marker the key of the marker */
  constructor(client: ClientPort, marker: string) {
    this.label = client.name;
    this.#client = client;
    this.#marker = marker;
  }

  prepare(key: string, ballot: string, now: Micros): Promise<Vote> {
    return this.#vote(key, ['prepare', ballot, `${now}`]);
  }

  accept(key: string, proposal: Proposal): Promise<Vote> {
    const { ballot, now, next, keep, value, messages, handOver } = proposal;
    const args = ['accept', ballot, `${now}`, next, `${keep}`, value];
    args.push(handOver?.channel ?? '', handOver?.text ?? '');
    for (const { channel, text } of messages) args.push(channel, text);
    return this.#vote(key, args);
  }

  tell({ channel, text }: Message): Promise<unknown> {
    return this.#call({ sha: SHA, keys: [this.#marker], args: ['tell', channel, text] });
  }

  async check({ durable, from, runId = '' }: GuardTerms): Promise<ServerStatus> {
    const args = ['check', durable ? '1' : '0', from === undefined ? '' : `${from}`, runId];
    const keys = [this.#marker, this.#marker];
    try {
      return statusOf(await this.#client.eval(SOURCE, keys, args));
    } catch (error) {
      if (CLUSTER.test(String((error as Error).message))) return CLUSTER_NODE;
      throw this.#failure(error);
    }
  }

  subscribe(channel: string, listener: MessageListener): Promise<{ close(): Promise<void> }> {
    return this.#client.subscribe(channel, listener);
  }

  async *keys(prefix: string, within: TimeLimit): AsyncIterable<string> {
    const start = this.#client.keyPrefix + prefix;
    const match = `${start.replace(/[\\*?[\]^-]/g, '\\$&')}*`;
    let cursor = '0';
    do {
      const scanning = this.#client.scan(cursor, match, SCAN_COUNT);
      const page = await within(scanning).catch((error: unknown) => {
        throw this.#failure(error);
      });
      cursor = page.cursor;
      for (const name of page.keys) yield name.slice(this.#client.keyPrefix.length);
    } while (cursor !== '0');
  }

  async #vote(key: string, args: readonly string[]): Promise<Vote> {
    try {
      return voteOf(await this.#call({ sha: SHA, keys: [key, this.#marker], args }));
    } catch (error) {
      // the server has booted: its marker must be compared first
      if (isNoScript(error)) return { status: 'unmarked' };
      throw this.#failure(error);
    }
  }

  #call(call: ScriptCall): Promise<unknown> {
    return new Promise((answer) => {
      this.#calls.push({ ...call, answer });
      if (this.#calls.length > 1) return;
      queueMicrotask(() => {
        const calls = this.#calls;
        this.#calls = [];
        const answers = this.#client.evalsha(calls);
        for (const [at, one] of calls.entries()) one.answer(answers[at] as Promise<unknown>);
      });
    });
  }

  #failure(error: unknown): StoreFailure {
    return error instanceof StoreFailure ? error : failureOf(error, this.#client.isReply(error));
  }
}

const micros = (seconds: string, rest: string): number => Number(seconds) * 1e6 + Number(rest);

function voteOf(raw: unknown): Vote {
  if (raw === 'QUEUED') {
    throw new StoreFailure('the client is inside MULTI', 'refused', undefined);
  }
  const [status = '', seconds = '', rest = '', first = '', second = ''] = raw as string[];
  const time = micros(seconds, rest);
  if (status === 'unmarked') return { status };
  if (status === 'no') return { status, time, promised: first };
  if (status === 'guarded') return { status, time, until: Number(first) };
  return { status: 'yes', time, ballot: first, value: second };
}

function statusOf(raw: unknown): ServerStatus {
  const words = raw as string[];
  const [seconds = '', rest = '', runId = '', version = '', role = '', replication = ''] = words;
  const [cluster, policy, from = '', set = '', keeps = '', uptime = ''] = words.slice(6);
  const time = micros(seconds, rest);
  return {
    ...{ time, runId, version, role, replication },
    cluster: cluster === '1',
    evicts: policy !== 'noeviction',
    markedAt: set === '' ? undefined : Number(set),
    votesFrom: from === '' ? undefined : Number(from),
    uptime: Number(uptime) * 1000,
    keeps: keeps === '' ? 0 : Math.max(0, (Number(keeps) - time) / 1000),
  };
}
