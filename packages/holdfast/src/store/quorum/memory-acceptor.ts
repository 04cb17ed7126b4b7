/**
 * An acceptor in memory, for tests and the simulator. It does what `acceptor-script.ts` does.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import type { Micros } from '../../engine/commands.js';
import type { Message, MessageListener } from '../register/register.js';
import {
  type Acceptor,
  type Asker,
  type GuardTerms,
  isOld,
  LEFT_MAX,
  leftText,
  LONG_MAX,
  LONG_MS,
  UNUSED,
  type LongRecord,
  PROMISE_MS,
  type Proposal,
  type ServerStatus,
  TEXTS_MAX,
  URGENT,
  type Vote,
  yieldsTo,
} from './acceptor.js';

interface Entry {
  readonly promised: string;
  readonly owner: string;
  /** The texts, each with one command a line or more. */
  readonly left: readonly string[];
  readonly ballot: string;
  readonly value: string;
  readonly expires: Micros;
}

interface Marker {
  readonly boot: string;
  readonly setAt: Micros;
  readonly votesFrom: Micros | undefined;
  readonly keeps: Micros;
  readonly mark: number;
  readonly partial: boolean;
  readonly unknown: ReadonlyMap<string, Micros>;
  readonly long: ReadonlyMap<string, Micros>;
}

interface Memory {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly markers: ReadonlyMap<string, Marker>;
}

class MemoryServer {
  entries = new Map<string, Entry>();
  markers = new Map<string, Marker>();
  boots = 0;
  bootedAt: number;
  offset = 0;
  saved: Memory = { entries: new Map(), markers: new Map() };
  readonly listeners = new Map<string, Set<MessageListener>>();

  constructor(bootedAt: number) {
    this.bootedAt = bootedAt;
  }
}

export class MemoryAcceptor implements Acceptor {
  readonly label = 'memory';
  about: Pick<ServerStatus, 'version' | 'role' | 'replication' | 'cluster' | 'evicts'>;
  readonly name: string;
  readonly #clock: Clock;
  readonly #server: MemoryServer;
  readonly #prefix: string;

  /**
   * @param uptime the ms since the server was started
   * @param of an acceptor on the same server, and the name of the marker
   */
  constructor(name: string, clock: Clock, uptime: number, of?: readonly [MemoryAcceptor, string]) {
    this.name = name;
    this.#clock = clock;
    this.#server = of === undefined ? new MemoryServer(clock.now() - uptime) : of[0].#server;
    this.#prefix = of?.[1] ?? '';
    const kind = { version: '7.0.0', role: 'master', cluster: false, evicts: false };
    this.about = { ...kind, replication: `replication of ${name}` };
  }

  /** In ms. */
  get offset(): number {
    return this.#server.offset;
  }

  set offset(ms: number) {
    this.#server.offset = ms;
  }

  get runId(): string {
    return `${this.name}.${this.#server.boots}`;
  }

  save(): void {
    const { entries, markers } = this.#server;
    this.#server.saved = { entries: new Map(entries), markers: new Map(markers) };
  }

  /** Starts again with all of its memory, that of the last snapshot, or none. */
  restart(memory: 'keeps' | 'saved' | 'loses'): void {
    this.#server.boots += 1;
    this.#server.bootedAt = this.#clock.now();
    if (memory === 'keeps') return;
    this.empty();
    if (memory === 'loses') return;
    this.#server.entries = new Map(this.#server.saved.entries);
    this.#server.markers = new Map(this.#server.saved.markers);
  }

  empty(): void {
    this.#server.entries = new Map();
    this.#server.markers = new Map();
  }

  /** It votes for all keys but those of long records. */
  votes(now: Micros): boolean {
    const from = this.#marker?.votesFrom;
    return from !== undefined && from <= now;
  }

  async prepare(key: string, ballot: string, now: Micros, asker: Asker = URGENT): Promise<Vote> {
    const time = this.#now();
    const marker = this.#voter(key, time, now);
    if ('status' in marker) return marker;
    const entry = this.#entry(key, time);
    if (stays(entry, ballot, now, asker)) return this.#keep(key, entry, time, asker.left);
    if (entry.promised > ballot) return this.#keep(key, entry, time);
    const expires = Math.max(entry.expires, time + PROMISE_MS * 1000);
    this.#server.entries.set(key, {
      ...entry,
      promised: ballot,
      owner: asker.owner,
      left: [],
      expires,
    });
    const { ballot: accepted, value } = entry;
    const left = entry.left.join('\n');
    return { status: 'yes', time, ballot: accepted, value, mark: marker.mark, left };
  }

  #keep(key: string, entry: Entry, time: Micros, more: string = ''): Vote {
    const { promised, left, owner } = entry;
    const size = left.reduce((sum, { length }) => sum + length, more.length);
    const kept = more !== '' && size <= LEFT_MAX && left.length < TEXTS_MAX;
    if (kept) {
      this.#server.entries.set(key, { ...entry, left: [...left, more] });
      if (left.length === 0) this.#tell(owner, key);
    }
    return { status: 'no', time, promised, kept };
  }

  #tell(owner: string, key: string, old = false): void {
    const space = owner.indexOf(' ');
    if (space < 0) return;
    const proof = createHash('sha1')
      .update(`${owner.slice(0, space)} ${key}`)
      .digest('hex');
    this.#publish({ channel: owner.slice(space + 1), text: leftText(proof, key, old) });
  }

  async collect(key: string, channel: string): Promise<string> {
    const entry = this.#entry(key, this.#now());
    if (channelOf(entry.owner) !== channel) return '';
    if (entry.left.length > 0) this.#server.entries.set(key, { ...entry, left: [] });
    return entry.left.join('\n');
  }

  async look(key: string, now: Micros): Promise<Vote> {
    const time = this.#now();
    const marker = this.#voter(key, time, now);
    if ('status' in marker) return marker;
    const { ballot, value } = this.#entry(key, time);
    return { status: 'yes', time, ballot, value, mark: marker.mark, left: '' };
  }

  async accept(key: string, proposal: Proposal): Promise<Vote> {
    const { ballot, next, owner = '', value, keep, messages, handOver, now } = proposal;
    const time = this.#now();
    const marker = this.#voter(key, time, now);
    if ('status' in marker) return marker;
    const entry = this.#entry(key, time);
    const yes = (mark: number, left: string, deaf?: readonly string[]): Vote => {
      return { status: 'yes', time, ballot: '', value: '', mark, left, deaf };
    };
    if (entry.ballot === ballot) return yes(marker.mark, '');
    if (entry.promised > ballot) return this.#keep(key, entry, time);
    if (marker.partial && keep > LONG_MS) return { status: 'unmarked' };
    const expires = time + keep * 1000;
    const left = handOver === undefined ? [] : entry.left;
    this.#server.entries.set(key, { promised: next, owner, left, ballot, value, expires });
    const noted = this.#noted(marker, key, proposal);
    if (noted !== marker) this.#server.markers.set(this.#prefix, noted);
    const first = handOver && { ...handOver, text: `${handOver.text}${value}` };
    const deaf: string[] = [];
    for (const { channel, text } of first === undefined ? messages : [first, ...messages]) {
      if (!this.#publish({ channel, text: `${ballot} ${text}` })) deaf.push(channel);
    }
    if (left[0] !== undefined) this.#tell(owner, key, isOld(left[0], now));
    return yes(noted.mark, handOver === undefined ? entry.left.join('\n') : '', deaf);
  }

  #noted(marker: Marker, key: string, { keep, now, fence }: Proposal): Marker {
    const until = now + keep * 1000;
    let after = marker;
    if (keep > LONG_MS) {
      const others = [...marker.long].filter(([one, end]) => end > now && one !== key);
      after = { ...after, long: new Map([...others, [key, until]]) };
    } else if (until > marker.keeps) {
      after = { ...after, keeps: until + 5e6 };
    }
    return fence > marker.mark ? { ...after, mark: Math.ceil(fence / 1e6) * 1e6 } : after;
  }

  publish(message: Message): void {
    this.#publish(message);
  }

  #publish({ channel, text }: Message): boolean {
    const listeners = this.#server.listeners.get(channel) ?? new Set();
    for (const listener of listeners) queueMicrotask(() => listener.message(text));
    return listeners.size > 0;
  }

  async check({ durable, decision, long = false }: GuardTerms): Promise<ServerStatus> {
    const time = this.#now();
    const boot = this.runId;
    if (this.about.role === 'master') this.#decide(boot, time, durable, decision);
    const marker = this.#marker;
    return {
      ...{ ...this.about, time, runId: boot, boot },
      ...{ votesFrom: marker?.votesFrom, markedAt: marker?.setAt, mark: marker?.mark ?? 0 },
      partial: marker?.partial ?? false,
      uptime: Math.floor((this.#clock.now() - this.#server.bootedAt) / 1000) * 1000,
      keeps: marker?.keeps ?? 0,
      long: marker === undefined || !long ? [] : longOf(marker),
    };
  }

  #decide(boot: string, time: Micros, durable: boolean, decision: GuardTerms['decision']): void {
    const old = this.#server.markers.get(this.#prefix);
    const none = { keeps: 0, mark: 0, partial: false, unknown: new Map(), long: new Map() };
    let marker: Marker = { ...none, boot, setAt: time, votesFrom: undefined };
    if (old?.boot === boot) marker = old;
    else if (old !== undefined && durable) marker = { ...old, boot, setAt: time };
    if (marker.votesFrom === undefined && durable) marker = { ...marker, votesFrom: 0 };
    if (decision?.boot === boot) {
      const { from, partial, long } = decision;
      const isFirst = marker.votesFrom === undefined;
      if (isFirst) marker = { ...marker, setAt: time, votesFrom: from };
      if (isFirst || (marker.partial && !partial)) {
        const mark = Math.max(marker.mark, decision.mark);
        marker = { ...marker, mark, partial, unknown: new Map([...marker.unknown, ...long]) };
      }
    }
    this.#server.markers.set(this.#prefix, marker);
  }

  async subscribe(channel: string, listener: MessageListener): Promise<{ close(): Promise<void> }> {
    const listeners = this.#server.listeners.get(channel) ?? new Set();
    this.#server.listeners.set(channel, listeners.add(listener));
    return { close: async () => void listeners.delete(listener) };
  }

  async *keys(prefix: string): AsyncIterable<string> {
    const time = this.#now();
    for (const [key, { expires, ballot }] of this.#server.entries) {
      if (expires > time && ballot !== '' && key.startsWith(prefix)) yield key;
    }
  }

  #now(): Micros {
    return Math.floor((this.#clock.wall() + this.offset) * 1000);
  }

  #voter(key: string, time: Micros, now: Micros): Marker | Vote {
    const marker = this.#marker;
    if (marker?.votesFrom === undefined) return { status: 'unmarked' };
    const until = Math.max(marker.votesFrom, marker.unknown.get(key) ?? 0);
    return now < until ? { status: 'guarded', time, until } : marker;
  }

  get #marker(): Marker | undefined {
    const marker = this.#server.markers.get(this.#prefix);
    return marker?.boot === this.runId ? marker : undefined;
  }

  #entry(key: string, time: Micros): Entry {
    const entry = this.#server.entries.get(key);
    if (entry !== undefined && entry.expires > time) return entry;
    return { promised: '', owner: '', left: [], ballot: '', value: '', expires: 0 };
  }
}

const channelOf = (owner: string): string => owner.slice(owner.indexOf(' ') + 1);

const TIME_DIGITS = 16;

function stays(
  { promised, owner }: Entry,
  ballot: string,
  now: Micros,
  { owner: asker, yields }: Asker,
): boolean {
  const isOwn =
    owner === ''
      ? promised.slice(TIME_DIGITS) === ballot.slice(TIME_DIGITS)
      : channelOf(owner) === channelOf(asker);
  if (yields === 0 || promised === '' || isOwn || owner === UNUSED) return false;
  const age = now - Number(promised.slice(0, TIME_DIGITS));
  return Math.abs(age) < yieldsTo(yields, owner);
}

function longOf({ long, unknown }: Marker): LongRecord[] {
  const latest = [...long].sort(([, one], [, other]) => one - other).slice(-LONG_MAX - 1);
  return [...latest, ...unknown];
}
