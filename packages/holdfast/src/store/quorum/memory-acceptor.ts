/**
 * An acceptor in the memory of this process, for tests and for the simulator. It does what the
 * script does (`acceptor-script.ts`), and a test compares the two.
 */
import type { Clock } from '../../clock.js';
import type { Micros } from '../../engine/commands.js';
import type { Message, MessageListener } from '../register/register.js';
import {
  type Acceptor,
  type GuardTerms,
  PROMISE_MS,
  type Proposal,
  type ServerStatus,
  type Vote,
} from './acceptor.js';

interface Entry {
  promised: string;
  ballot: string;
  value: string;
  expires: Micros;
}

interface Marker {
  readonly runId: string;
  readonly votesFrom: Micros;
  readonly setAt: Micros;
  keeps: Micros;
}

export class MemoryAcceptor implements Acceptor {
  readonly label = 'memory';
  /** What the server tells about itself. */
  about: Pick<ServerStatus, 'version' | 'role' | 'replication' | 'cluster' | 'evicts'>;
  /** By how much the clock of the server is ahead, in ms. */
  offset = 0;
  readonly name: string;
  readonly #clock: Clock;
  readonly #listeners = new Map<string, Set<MessageListener>>();
  #entries = new Map<string, Entry>();
  #marker: Marker | undefined;
  #boots = 0;
  #bootedAt: number;

  /** @param uptime the ms since the server was started */
  constructor(name: string, clock: Clock, uptime: number) {
    this.name = name;
    this.#clock = clock;
    this.#bootedAt = clock.now() - uptime;
    const kind = { version: '7.0.0', role: 'master', cluster: false, evicts: false };
    this.about = { ...kind, replication: `replication of ${name}` };
  }

  get runId(): string {
    return `${this.name}.${this.#boots}`;
  }

  /** Starts the server again. It keeps its records and an old marker, or nothing. */
  restart(memory: 'keeps' | 'loses'): void {
    this.#boots += 1;
    this.#bootedAt = this.#clock.now();
    if (memory === 'loses') this.empty();
    // its script is not loaded, so the next request is `check`
    else if (this.#marker !== undefined) this.#marker = { ...this.#marker, runId: '' };
  }

  /** Deletes all keys. */
  empty(): void {
    this.#entries = new Map();
    this.#marker = undefined;
  }

  async prepare(key: string, ballot: string, now: Micros): Promise<Vote> {
    const time = this.#now();
    const refusal = this.#refusal(time, now);
    if (refusal !== undefined) return refusal;
    const entry = this.#entry(key, time);
    if (entry.promised > ballot) return { status: 'no', time, promised: entry.promised };
    entry.promised = ballot;
    entry.expires = Math.max(entry.expires, time + PROMISE_MS * 1000);
    this.#entries.set(key, entry);
    return { status: 'yes', time, ballot: entry.ballot, value: entry.value };
  }

  async accept(key: string, proposal: Proposal): Promise<Vote> {
    const { ballot, next, value, keep, messages, handOver, now } = proposal;
    const time = this.#now();
    const refusal = this.#refusal(time, now);
    if (refusal !== undefined) return refusal;
    const { promised, ballot: accepted } = this.#entry(key, time);
    const yes = { status: 'yes', time, ballot: '', value: '' } as const;
    if (accepted === ballot) return yes;
    if (promised > ballot) return { status: 'no', time, promised };
    this.#entries.set(key, { promised: next, ballot, value, expires: time + keep * 1000 });
    const keeps = time + keep * 1000;
    const marker = this.#marker as Marker;
    if (keeps > marker.keeps) marker.keeps = keeps + 5e6;
    if (handOver !== undefined) {
      this.#publish({ ...handOver, text: `${ballot} ${handOver.text}${value}` });
    }
    for (const { channel, text } of messages) this.#publish({ channel, text: `${ballot} ${text}` });
    return yes;
  }

  async tell(message: Message): Promise<void> {
    this.#publish(message);
  }

  #publish({ channel, text }: Message): void {
    for (const listener of this.#listeners.get(channel) ?? []) {
      queueMicrotask(() => listener.message(text));
    }
  }

  async check({ durable, from, runId: decidedFor }: GuardTerms): Promise<ServerStatus> {
    const time = this.#now();
    const { runId } = this;
    let marker = this.#marker;
    if (marker?.runId !== runId && this.about.role === 'master') {
      const votesFrom = durable ? 0 : decidedFor === runId ? from : undefined;
      marker = votesFrom === undefined ? undefined : { runId, votesFrom, setAt: time, keeps: 0 };
      this.#marker = marker ?? this.#marker;
    }
    return {
      ...{ ...this.about, time, runId, votesFrom: marker?.votesFrom, markedAt: marker?.setAt },
      uptime: Math.floor((this.#clock.now() - this.#bootedAt) / 1000) * 1000,
      keeps: Math.max(0, ((marker?.keeps ?? 0) - time) / 1000),
    };
  }

  async subscribe(channel: string, listener: MessageListener): Promise<{ close(): Promise<void> }> {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    return { close: async () => void listeners.delete(listener) };
  }

  async *keys(prefix: string): AsyncIterable<string> {
    const time = this.#now();
    for (const [key, { expires, ballot }] of this.#entries) {
      if (expires > time && ballot !== '' && key.startsWith(prefix)) yield key;
    }
  }

  #now(): Micros {
    return Math.floor((this.#clock.wall() + this.offset) * 1000);
  }

  /** @param now the time of the quorum */
  #refusal(time: Micros, now: Micros): Vote | undefined {
    if (this.#marker === undefined || this.#marker.runId !== this.runId) {
      return { status: 'unmarked' };
    }
    const until = this.#marker.votesFrom;
    return now < until ? { status: 'guarded', time, until } : undefined;
  }

  #entry(key: string, time: Micros): Entry {
    const entry = this.#entries.get(key);
    if (entry !== undefined && entry.expires > time) return entry;
    return { promised: '', ballot: '', value: '', expires: 0 };
  }
}
