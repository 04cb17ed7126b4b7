/**
 * Calls of scripts as commands of ioredis whose replies go to a receiver.
 *
 * ioredis flattens, checks and converts each command's words, and makes a promise; a script's
 * words, which are texts, need none of this. So these commands are of a subclass, without the
 * promise, and their text is joined at once. The class is that of a command which the client makes
 * and does not send. There are none for a client whose class looks otherwise or whose options
 * concern single commands, or if the program traces ioredis' commands.
 */
import { tracingChannel } from 'node:diagnostics_channel';
import type { ClientPort, RawOutcome, ScriptCall } from './port.js';

interface Command {
  isResolved: boolean;
  isTraced: boolean;
  resolve: (raw: unknown) => void;
  reject: (error: unknown) => void;
  readonly promise?: unknown;
  transformReply(raw: unknown): unknown;
  toWritable(): unknown;
}

type CommandClass = new (name: string, args: readonly string[], options: object) => Command;

interface Client {
  readonly options: object;
  sendCommand(command: object): unknown;
  ping(): object;
}

/** ioredis has to send the call with one of these options. */
const OPTIONS = ['commandTimeout', 'enableAutoPipelining', 'keyPrefix', 'showFriendlyErrorStack'];

const NONE: readonly string[] = [];
const TEXTS = { replyEncoding: 'utf8' };
const TRACED = tracingChannel('ioredis:command');

/** `undefined` if the client cannot send them. */
export function posting(given: object): ClientPort['post'] {
  const client = given as Client;
  if (OPTIONS.some((name) => isSet(client, name))) return undefined;
  if (hasOwnCalls(client)) return undefined;
  const ScriptCommand = scriptCommandOf(client);
  if (ScriptCommand === undefined) return undefined;
  return (call, last, to) => {
    // Node before 20.13 does not tell
    if ((TRACED.hasSubscribers as boolean | undefined) !== false) return false;
    // the program wants to see the calls
    if (Object.hasOwn(client, 'evalsha')) return false;
    try {
      client.sendCommand(new ScriptCommand(call, last, to));
    } catch (error) {
      to.failed(error, true);
    }
    return true;
  };
}

/**
 * Its number is known before it is open. A client that connects with its first command has none
 * yet, and some versions do not count.
 */
export function connectionOf(client: object): unknown {
  const { connectionEpoch: count, status, stream } = client as Counting;
  if (typeof count !== 'number') return stream;
  return status === 'wait' ? count + 1 : count;
}

interface Counting {
  readonly connectionEpoch?: unknown;
  readonly status?: unknown;
  readonly stream?: unknown;
}

/** A class of the program has its own `evalsha`, which may change the keys. */
export function hasOwnCalls(client: object): boolean {
  return ownerOf(client, 'evalsha') !== ownerOf(client, 'evalshaBuffer');
}

function ownerOf(client: object, name: string): object | null {
  let at: object | null = client;
  while (at !== null && !Object.hasOwn(at, name)) at = Object.getPrototypeOf(at) as object | null;
  return at;
}

function isSet({ options }: Client, name: string): boolean {
  const value = (options as Record<string, unknown>)[name];
  return value !== undefined && value !== null && value !== false && value !== '';
}

function scriptCommandOf(
  client: Client,
): (new (call: ScriptCall, last: string, to: RawOutcome) => object) | undefined {
  const Base = commandClassOf(client);
  if (Base === undefined) return undefined;

  class ScriptCommand extends Base {
    readonly call: ScriptCall;
    readonly last: string;

    constructor(call: ScriptCall, last: string, to: RawOutcome) {
      super('evalsha', NONE, TEXTS);
      this.call = call;
      this.last = last;
      this.isTraced = true;
      const connection = connectionOf(client);
      // no methods: other libraries call them without the command
      this.resolve = (raw) => {
        this.isResolved = true;
        to.answered(this.transformReply(raw), connectionOf(client) === connection);
      };
      this.reject = (error) => to.failed(error, connectionOf(client) === connection);
    }

    initPromise(): void {}

    /** Rarely read. */
    get args(): readonly string[] {
      const { sha, keys, args } = this.call;
      return [sha, `${keys.length}`, ...keys, ...args, this.last];
    }

    set args(_: readonly string[]) {}

    override toWritable(): string {
      const { sha, keys, args } = this.call;
      const count = keys.length + args.length + 3;
      const words = (WORDS[count] ??= Array.from({ length: 2 * count + 2 }, () => ''));
      words[0] = `*${count + 1}\r\n$7\r\nevalsha`;
      for (let at = 0; at < count; at++) {
        let word = this.last;
        if (at === 0) word = sha;
        else if (at === 1) word = `${keys.length}`;
        else if (at < keys.length + 2) word = keys[at - 2] as string;
        else if (at < count - 1) word = args[at - keys.length - 2] as string;
        const length = Buffer.byteLength(word);
        words[2 * at + 1] = LENGTHS[length] ?? `$${length}`;
        words[2 * at + 2] = word;
      }
      return words.join('\r\n');
    }
  }

  const call = { sha: '', keys: ['é'], args: [''] };
  const sample = new ScriptCommand(call, '2', { answered() {}, failed() {} });
  const isKnown = sample.toWritable() === Base.prototype.toWritable.call(sample);
  return isKnown && sample.promise === undefined ? ScriptCommand : undefined;
}

/** By the number of arguments; used again, as such an array is larger than most of a call. */
const WORDS: string[][] = [];
/** The words for lengths, of which most calls have the same. */
const LENGTHS = Array.from({ length: 128 }, (_, length) => `$${length}`);

function commandClassOf(client: Client): CommandClass | undefined {
  try {
    if (typeof client.sendCommand !== 'function') return undefined;
    const caught = { sendCommand: { value: (command: object) => command } };
    const command = (Object.create(client, caught) as Client).ping() as Record<string, unknown>;
    const methods = ['initPromise', 'toWritable', 'transformReply', 'setTimeout'];
    const isKnown = methods.every((name) => typeof command[name] === 'function');
    return isKnown ? (command.constructor as CommandClass) : undefined;
  } catch {
    return undefined;
  }
}
