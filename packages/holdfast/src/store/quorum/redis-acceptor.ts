/** An acceptor on one server, through a client of the user. */
import { createHash } from 'node:crypto';
import type { ClientPort, ScriptCall } from '../clients/port.js';
import type { MessageListener } from '../register/register.js';
import type { Micros } from '../../engine/commands.js';
import { StoreFailure, type TimeLimit } from '../port.js';
import { failureOf, isNoScript } from '../redis/error-replies.js';
import { provable, provenPort } from '../redis/proven-port.js';
import { TEXT } from './acceptor-script.js';
import {
  type Acceptor,
  type Asker,
  type GuardTerms,
  type LongRecord,
  type Proposal,
  type ServerStatus,
  URGENT,
  type Vote,
} from './acceptor.js';

interface Script {
  readonly source: string;
  readonly sha: string;
}

function scriptOf(source: string): Script {
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

const SCRIPT = scriptOf(provable(TEXT));
/** This form runs also while the server's memory is full. */
const LEAN = scriptOf(`#!lua flags=allow-oom\n${provable(TEXT)}`);
const SCAN_COUNT = 500;

/** The reply of a cluster's node for another node's key. */
const CLUSTER = /^(MOVED|ASK|CLUSTERDOWN|CROSSSLOT)\b/;

const CLUSTER_NODE: ServerStatus = {
  ...{ time: 0, runId: '', version: '', role: '', replication: '', cluster: true, evicts: false },
  ...{ markedAt: undefined, votesFrom: undefined, uptime: 0, keeps: 0, long: [], mark: 0 },
  ...{ boot: '', partial: false },
};

export class RedisAcceptor implements Acceptor {
  readonly label: string;
  boot = '';
  readonly #client: ClientPort;
  readonly #marker: string;
  #calls: (ScriptCall & { readonly answer: (answer: Promise<unknown>) => void })[] = [];

  constructor(client: ClientPort, marker: string) {
    this.label = client.name;
    this.#client = provenPort(client);
    this.#marker = marker;
  }

  connection(): unknown {
    return this.#client.connection();
  }

  prepare(key: string, ballot: string, now: Micros, asker: Asker = URGENT): Promise<Vote> {
    const { owner, yields, left = '' } = asker;
    return this.#vote(key, ['prepare', ballot, `${now}`, `${yields}`, owner, key, left]);
  }

  look(key: string, now: Micros): Promise<Vote> {
    return this.#vote(key, ['look', '', `${now}`]);
  }

  accept(key: string, proposal: Proposal): Promise<Vote> {
    const { ballot, now, next, owner, keep, value, fence, messages, handOver, grows } = proposal;
    const args = ['accept', ballot, `${now}`, next, `${keep}`, value, `${fence}`];
    args.push(handOver?.channel ?? '', handOver?.text ?? '', owner ?? '', key);
    for (const { channel, text } of messages) args.push(channel, text);
    return this.#vote(key, args, grows ? SCRIPT : LEAN);
  }

  async collect(key: string, channel: string): Promise<string> {
    return String(await this.#call(key, ['collect', channel]));
  }

  async check({ durable, decision, long = false }: GuardTerms): Promise<ServerStatus> {
    const { keyPrefix } = this.#client;
    const args = ['check', durable ? '1' : '0', long ? '1' : '0'];
    if (decision !== undefined) {
      const { boot, from, mark, long: later, partial } = decision;
      args.push(boot, `${from}`, `${mark}`, partial ? '1' : '0');
      for (const [key, until] of later) args.push(keyPrefix + key, `${until}`);
    }
    try {
      // the other form fails on a replica, which must say what it is
      return statusOf(await this.#call(this.#marker, args, SCRIPT), keyPrefix);
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

  async #vote(key: string, [op, ...args]: readonly string[], script = LEAN): Promise<Vote> {
    try {
      return voteOf(await this.#call(key, [`${op} ${this.boot}`, ...args], script));
    } catch (error) {
      throw this.#failure(error);
    }
  }

  async #call(key: string, args: readonly string[], script = LEAN): Promise<unknown> {
    const keys = [key, this.#marker, `${this.#marker}:long`];
    try {
      return await this.#joined({ sha: script.sha, keys, args });
    } catch (error) {
      if (!isNoScript(error)) throw error;
      return this.#client.eval(script.source, keys, args);
    }
  }

  #joined(call: ScriptCall): Promise<unknown> {
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
  const [status = '', seconds = '', rest = '', ...words] = raw as string[];
  const [first = '', second = '', mark, left = ''] = words;
  const deaf = words[4] as unknown as readonly string[] | undefined;
  const time = micros(seconds, rest);
  if (status === 'unmarked') return { status };
  if (status === 'no') return { status, time, promised: first, kept: second !== '' };
  if (status === 'guarded') return { status, time, until: Number(first) };
  return { status: 'yes', time, ballot: first, value: second, mark: Number(mark), left, deaf };
}

function statusOf(raw: unknown, keyPrefix: string): ServerStatus {
  const words = raw as string[];
  const [seconds = '', rest = '', runId = '', version = '', role = '', boot = ''] = words;
  const [cluster, policy, from = '', set = '', keeps = '', uptime = ''] = words.slice(6);
  const long: LongRecord[] = [];
  const named = words[13] as unknown as readonly string[];
  for (let at = 0; at < named.length; at += 2) {
    long.push([(named[at] as string).slice(keyPrefix.length), Number(named[at + 1])]);
  }
  return {
    ...{ time: micros(seconds, rest), runId, boot, version, role, replication: boot, long },
    cluster: cluster === '1',
    evicts: policy !== 'noeviction',
    markedAt: set === '' ? undefined : Number(set),
    votesFrom: from === '' ? undefined : Number(from),
    // a difference of whole seconds: too long by up to one
    uptime: Math.max(0, Number(uptime) - 1) * 1000,
    keeps: Number(keeps),
    mark: Number(words[12]),
    partial: words[14] === '1',
  };
}
