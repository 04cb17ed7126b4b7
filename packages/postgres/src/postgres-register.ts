/**
 * The register on a table of PostgreSQL: one row for each key, replaced by an UPDATE that names the
 * version it replaces. The statements are in sql.ts.
 *
 * Invariants:
 * - A swap takes effect at most once: its version is new, and the row must have the old one.
 * - A swap that is answered with `false` has changed nothing. One that fails in any other way may
 *   have taken effect, unless the server refused it.
 * - The clock of an answer was read while the statement ran.
 */
import { randomUUID } from 'node:crypto';
import {
  type Change,
  Collector,
  type Finding,
  type HandedOver,
  type MessageListener,
  type Register,
  RegisterError,
  type Swap,
  type Swapped,
  type TimeLimit,
  type Versioned,
} from 'holdfast/register';
import type { Driver, Kind, Row } from './driver.js';
import { handedOver, received } from './handing-over.js';
import { failureOf, meaningOf } from './failures.js';
import { EXAMINATION, findingsOf } from './findings.js';
import { channelOf, Listening } from './listening.js';
import { Living } from './living.js';
import {
  arrayOf,
  behind,
  escaped,
  isOfStandby,
  OVERTAKING,
  quoted,
  SCAN_ROWS,
  type Statements,
  statements,
  unescaped,
} from './sql.js';

/** The most bytes of a message: `pg_notify` refuses 8,000 and more. */
const MESSAGE_MAX = 7999;
/** One in so many first states makes a removal of forgotten ones. */
const SWEEP_ONE_IN = 500;
/** The version of a key without a row. */
const NONE = '0';

export interface RegisterTerms {
  readonly driver: Driver;
  readonly table: string;
  /** The most characters of a state. */
  readonly stateMax: number;
}

export class PostgresRegister implements Register {
  readonly label = 'postgresql';
  readonly stateMax: number;
  readonly listen?: NonNullable<Register['listen']>;
  readonly alive?: NonNullable<Register['alive']>;
  readonly #driver: Driver;
  readonly #table: string;
  readonly #sql: Statements;
  readonly #reads: Collector<string, Versioned>;
  readonly #swaps: Collector<Swap, Swapped>;
  readonly #receivers = new Set<(key: string, state: HandedOver) => void>();
  /** The versions whose grants failed, by their keys, until the next read. */
  readonly #failed = new Map<string, string>();

  constructor({ driver, table, stateMax }: RegisterTerms) {
    this.#driver = driver;
    this.#table = table;
    this.#sql = statements(quoted(table));
    this.stateMax = stateMax;
    this.#reads = new Collector((keys) => this.#readAll(keys));
    this.#swaps = new Collector((swaps) => this.#swapAll(swaps), { keyOf: ({ key }) => key });
    if (driver.subscribe === undefined) return;
    const { isApart, subscribe } = driver;
    const notify = (channel: string, text: string): Promise<unknown> =>
      this.#query('SELECT pg_notify($1::text, $2::text)', [channel, text]);
    const listening = new Listening(subscribe, notify, isApart);
    this.listen = (channel, listener) => this.#listen(listening, channel, listener);
    if (!isApart) return;
    const living = new Living((text, values) => this.#query(text, values, 'often'));
    this.alive = (channels) => living.of(channels.map(channelOf));
  }

  read(key: string): Promise<Versioned> {
    const failed = this.#failed.get(key);
    if (failed === undefined) return this.#reads.add(key);
    this.#failed.delete(key);
    return this.#readHeld(key, failed);
  }

  async overtake(key: string): Promise<Versioned> {
    const version = randomUUID().replace(/^(.{14})./, `$1${OVERTAKING}`);
    const [row] = await this.#unlessLost(this.#sql.overtake, [escaped(key), version], 'often');
    if (row === undefined) return this.read(key);
    this.#failed.delete(key);
    return versionedOf(row);
  }

  handsOver(receive: (key: string, state: HandedOver) => void): () => void {
    this.#receivers.add(receive);
    // called before the first call of an instance
    this.#driver.use?.();
    return () => void this.#receivers.delete(receive);
  }

  swap(key: string, version: string, change: Change): Promise<Swapped> {
    return this.#swaps.add({ key, version, change });
  }

  async *scan(
    prefix: string,
    within: TimeLimit,
  ): AsyncIterable<{ key: string; found?: Versioned }> {
    const from = escaped(prefix);
    const to = behind(from);
    let after = '';
    for (;;) {
      const rows = await within(this.#query(this.#sql.scan, [from, after, to]));
      if (isOfStandby(rows)) throw standby();
      for (const row of rows) {
        // an empty page has one row without a key
        if (row['key'] === null) return;
        after = row['key'] as string;
        yield { key: unescaped(after), found: versionedOf(row) };
      }
      if (rows.length < SCAN_ROWS) return;
    }
  }

  async examine(): Promise<readonly Finding[]> {
    const rows = await this.#query(EXAMINATION, [quoted(this.#table)]);
    return rows.flatMap(findingsOf);
  }

  /** Ends the connection for statements. That for messages ends with its last channel. */
  async close(): Promise<void> {
    await this.#driver.close();
  }

  async #listen(
    listening: Listening,
    channel: string,
    listener: MessageListener,
  ): Promise<{ close(): Promise<void> }> {
    const message = (sent: string): void => {
      const brought = received(sent);
      if (brought === undefined) return listener.message(sent);
      for (const receive of this.#receivers) receive(brought.key, brought.state);
      listener.message(brought.text);
    };
    try {
      const own = { message, up: () => listener.up(), down: () => listener.down() };
      return await listening.listen(channelOf(channel), own);
    } catch (error) {
      throw failureOf(error, this.#table);
    }
  }

  async #query(text: string, values: readonly string[], kind?: Kind): Promise<readonly Row[]> {
    try {
      return await this.#driver.query(text, values, kind);
    } catch (error) {
      throw failureOf(error, this.#table);
    }
  }

  /** As `#query`; no rows if another writer was first, or has locked the row. */
  async #unlessLost(text: string, values: readonly string[], kind?: Kind): Promise<readonly Row[]> {
    try {
      return await this.#driver.query(text, values, kind);
    } catch (error) {
      if (meaningOf(error) === 'lost') return [];
      throw failureOf(error, this.#table);
    }
  }

  async #readAll(keys: readonly string[]): Promise<Versioned[]> {
    const names = keys.map(escaped);
    const [only] = names;
    const rows =
      only !== undefined && names.length === 1
        ? await this.#query(this.#sql.read, [only], 'often')
        : await this.#query(this.#sql.readMany, [arrayOf(names)]);
    if (isOfStandby(rows)) throw standby();
    const found = new Map(rows.map((row) => [Number(row['n'] ?? 1), row]));
    return keys.map((_, at) => versionedOf(found.get(at + 1) as Row));
  }

  /**
   * After a grant of a version failed. Another writer may have locked the row, or a guard. That of
   * a writer that lost its race lasts until its commit, and changes nothing.
   */
  async #readHeld(key: string, version: string): Promise<Versioned> {
    const [row] = await this.#unlessLost(this.#sql.readHeld, [escaped(key), version]);
    if (row === undefined) return this.#reads.add(key);
    if (isOfStandby([row])) throw standby();
    if (row['guarded'] !== 'true') return versionedOf(row);
    return { ...versionedOf({ ...row, forget_at: `${Number.MAX_SAFE_INTEGER}` }), heldBack: true };
  }

  async #swapAll(swaps: readonly Swap[]): Promise<Swapped[]> {
    let swapped: Swapped[];
    try {
      const isOne = swaps.length === 1;
      swapped = isOne ? [await this.#swapOne(swaps[0] as Swap)] : await this.#swapMany(swaps);
    } catch (error) {
      if (meaningOf(error) !== 'lost') throw failureOf(error, this.#table);
      swapped = swaps.map(() => false);
    }
    for (let at = 0; at < swaps.length; at += 1) {
      if (swapped[at] === false) this.#lost(swaps[at] as Swap);
    }
    return swapped;
  }

  #lost({ key, version, change }: Swap): void {
    if (version !== NONE && change.grants !== false) this.#failed.set(key, version);
  }

  async #swapOne({ key, version, change }: Swap): Promise<Swapped> {
    let next: string = randomUUID();
    const { channels, texts } = messagesOf(change);
    const isFirst = version === NONE;
    const kind = isFirst ? 'insert' : change.grants === false ? 'update' : 'grant';
    const values = [escaped(key), version, next, escaped(change.state), `${change.forgetAt}`];
    let text = this.#sql[kind];
    if (channels.length === 1 && kind !== 'insert') {
      text = this.#sql[`${kind}AndTell`];
      let [message] = texts as [string];
      if (change.nextChannel !== undefined && channelOf(change.nextChannel) === channels[0]) {
        const brings = handedOver(message, key, change.state);
        if (Buffer.byteLength(brings.text) <= MESSAGE_MAX) {
          ({ version: next, text: message } = brings);
          values[2] = next;
        }
      }
      values.push(channels[0] as string, message);
    } else if (channels.length > 0) {
      text = this.#sql[`${kind}AndTellMany`];
      values.push(arrayOf(channels), arrayOf(texts));
    }
    const rows = await this.#driver.query(text, values, 'often');
    if (isFirst && Math.random() * SWEEP_ONE_IN < 1) this.#sweep();
    const [row] = rows;
    return row === undefined ? false : { version: next, time: Number(row['time']) };
  }

  async #swapMany(swaps: readonly Swap[]): Promise<Swapped[]> {
    const versions = swaps.map(() => randomUUID() as string);
    const channels: string[] = [];
    const texts: string[] = [];
    const numbers: string[] = [];
    for (const [at, { change }] of swaps.entries()) {
      const messages = messagesOf(change);
      channels.push(...messages.channels);
      texts.push(...messages.texts);
      for (const _ of messages.texts) numbers.push(`${at + 1}`);
    }
    const rows = await this.#driver.query(
      this.#sql.swapMany,
      [
        swaps.map(({ key }) => escaped(key)),
        swaps.map(({ version }) => version),
        versions,
        swaps.map(({ change }) => escaped(change.state)),
        swaps.map(({ change }) => `${change.forgetAt}`),
        swaps.map(({ change }) => `${change.grants !== false}`),
        ...[channels, texts, numbers],
      ].map(arrayOf),
    );
    if (swaps.some(({ version }) => version === NONE) && Math.random() < 0.02) this.#sweep();
    const times = new Map(rows.map((row) => [Number(row['n']), Number(row['time'])]));
    return versions.map((version, at) => {
      const time = times.get(at + 1);
      return time === undefined ? false : { version, time };
    });
  }

  /** Removes rows whose states may be forgotten. */
  #sweep(): void {
    void this.#query(this.#sql.sweep, []).catch(() => undefined);
  }
}

function versionedOf(row: Row): Versioned {
  const time = Number(row['time']);
  const version = row['version'] ?? NONE;
  const isForgotten = version === NONE || Number(row['forget_at']) <= time;
  return { state: isForgotten ? '' : unescaped(row['state'] as string), version, time };
}

interface Sent {
  readonly channels: readonly string[];
  readonly texts: readonly string[];
}

const NOTHING: Sent = { channels: [], texts: [] };

/** The messages that PostgreSQL can send. One that is too long is lost: its receiver polls. */
function messagesOf({ messages }: Change): Sent {
  if (messages.length === 0) return NOTHING;
  const fit = messages.filter(({ text }) => Buffer.byteLength(text) <= MESSAGE_MAX);
  return {
    channels: fit.map(({ channel }) => channelOf(channel)),
    texts: fit.map(({ text }) => text),
  };
}

function standby(): RegisterError {
  const message = 'the server is a standby, which may be behind: connect to the primary';
  return new RegisterError('transient', message);
}
