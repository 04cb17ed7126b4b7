/**
 * Acquisitions, releases and inspections of several mutexes with one script call ([decision
 * 25](../../../../../docs/decisions/0025-several-mutexes-in-a-call.md)).
 *
 *     command of one turn --few, or other--> a call of its own
 *             \--several of the same terms--> one call for all --done--> its reply
 *                (and of the same node)              \--an error--> a call of its own
 *
 * The mutexes of a call are at one node (`node-calls.ts`) or at the one server (`one-server.ts`).
 *
 * Invariants: the commands of a key are executed in the order of sending: each by the first call
 * that has it; those of a key that occurs twice in a turn by their own calls. Only an error of the
 * server, or of a node whose slots move, breaks this order. One call at most executes a command,
 * unless the client repeats it: then a release that finds nothing counts as unanswered.
 */
import { UnknownNode } from '../clients/cluster.js';
import type { ClientPort, ScriptCall } from '../clients/port.js';
import type { Acquire, Inspect, KeyCommand, Release, Reply } from '../../engine/commands.js';
import { StoreFailure } from '../port.js';
import { answerTo, encode, notQueued, shortReply } from './codec.js';
import { isNoScript } from './error-replies.js';
import { isUnchecked, NodeCalls, type NodeNames } from './node-calls.js';
import type { OneServer } from './one-server.js';
import { scripts } from './generated/scripts.js';
import type { Script } from './script.js';
import type { ScriptLoader } from './script-loader.js';
import { plainlyInspected } from './view-codec.js';

/** Fewer commands cost less with their own calls. */
const LEAST = 2;
/** Half a millisecond of the server. */
const MOST = 128;
/** The calls of one turn; further commands have their own. */
const GROUPS_MAX = 16;

export type Short = Acquire | Release | Inspect;

interface Group {
  readonly at: string | undefined;
  readonly commands: Short[];
  readonly places: number[];
}

export interface SeveralStore {
  readonly client: ClientPort;
  readonly prefix: string;
  readonly mainKeyOf: (command: KeyCommand) => string;
  /** The command with the channel of this process at the key's node. */
  readonly addressed: (command: Short) => Short;
  readonly loader: ScriptLoader;
  readonly oneServer: OneServer;
  /**
   * One call for each command.
   * @param first the connection of an earlier call with these commands
   */
  readonly alone: (batch: readonly KeyCommand[], first?: unknown) => Promise<Reply>[];
  /** A `StoreFailure` if the client may have sent the command twice. */
  readonly once: (reply: Reply, command: KeyCommand, connection: unknown) => Reply;
  readonly failure: (error: unknown, command: Short) => Promise<StoreFailure>;
}

export class Several {
  readonly #store: SeveralStore;
  readonly #nodes: NodeCalls | undefined;
  /** The server refuses calls with keys of several resources, or with some keys. */
  #apart: boolean;

  constructor(store: SeveralStore) {
    this.#store = store;
    const { client, prefix } = store;
    const { cluster } = client;
    if (cluster !== undefined) this.#nodes = new NodeCalls(cluster, client.keyPrefix, prefix);
    this.#apart = false;
  }

  execute(batch: readonly KeyCommand[]): Promise<Reply>[] {
    const groups = this.#apart || batch.length < LEAST ? [] : this.#groupsOf(batch);
    if (groups.length === 0 || !this.#mayName) return this.#store.alone(batch);
    const { client, once } = this.#store;
    const connection = client.connection();
    const replies: Promise<Reply>[] = [];
    const calls = groups.map((group) => this.#callOf(group));
    const answers = client.evalsha(calls);
    let sent = 0;
    for (let index = 0; index < groups.length; index++) {
      const { commands, places } = groups[index] as Group;
      const [answer, call] = [answers[index] as Promise<unknown>, calls[index] as ScriptCall];
      const all = this.#repliesOf(commands, answer, call, connection);
      for (let at = 0; at < places.length; at++) {
        const command = commands[at] as Short;
        replies[places[at] as number] = all.then((list) => {
          const reply = list[at] as Reply | Promise<Reply>;
          return reply instanceof Promise ? reply : once(reply, command, connection);
        });
      }
      sent += places.length;
    }
    if (sent === batch.length) return replies;
    const others = this.#store.alone(batch.filter((_, place) => !(place in replies))).values();
    return batch.map((_, place) => replies[place] ?? (others.next().value as Promise<Reply>));
  }

  /** Executes a command with its main record only; `undefined` if it needs its own call. */
  async one(command: Short): Promise<Reply | undefined> {
    const { client, loader, mainKeyOf, addressed } = this.#store;
    const script = scriptOf([command]);
    const args = argsOfMany([addressed(command)]);
    const call: ScriptCall = { sha: script.sha, keys: [mainKeyOf(command)], args };
    const [answer] = client.evalsha([call]) as [Promise<unknown>];
    const raw = await answer.catch((error: unknown) => {
      if (!isNoScript(error)) throw error;
      return loader.repeat(call, script);
    });
    return repliesTo([command], raw)[0];
  }

  /** A call may name several mutexes. On a cluster, it tests its node. */
  get #mayName(): boolean {
    return this.#nodes !== undefined || this.#store.oneServer.isProven();
  }

  #groupsOf(batch: readonly KeyCommand[]): Group[] {
    const twice = keysInTwo(batch);
    const groups: Group[] = [];
    for (let place = 0; place < batch.length; place++) {
      const command = batch[place] as KeyCommand;
      const { key } = command;
      if (!isShort(command) || twice?.has(key) === true) continue;
      const at = this.#nodes?.of(this.#store.mainKeyOf(command));
      if (at === '') continue;
      let group = groups.findLast(
        (one) => one.at === at && haveSameTerms(one.commands[0] as Short, command),
      );
      if (group === undefined || group.places.length === MOST) {
        if (groups.length === GROUPS_MAX) continue;
        group = { at, commands: [], places: [] };
        groups.push(group);
      }
      group.commands.push(command);
      group.places.push(place);
    }
    return groups.filter(({ places }) => places.length >= LEAST);
  }

  #callOf({ commands, at }: Group): ScriptCall {
    const { mainKeyOf, addressed } = this.#store;
    const { sha } = scriptOf(commands);
    const names = commands.map(mainKeyOf);
    if (at === undefined) return { ...{ sha, names }, keys: names, args: argsOfMany(commands) };
    const all = [addressed(commands[0] as Short), ...commands.slice(1)];
    const args = argsOfMany(all, this.#nodes?.names(at, names));
    return { ...{ sha, at, names }, keys: [], args };
  }

  async #repliesOf(
    commands: readonly Short[],
    answer: Promise<unknown>,
    call: ScriptCall,
    connection: unknown,
  ): Promise<(Reply | Promise<Reply>)[]> {
    const { loader, failure, alone } = this.#store;
    let raw: unknown;
    try {
      raw = await answer.catch((error: unknown) => {
        if (!isNoScript(error)) throw error;
        return loader.repeat(call, scriptOf(commands));
      });
      if (call.at !== undefined) this.#nodes?.answered(call.at, raw);
    } catch (error) {
      if (isApart(error)) this.#apart = true;
      else if (call.at === undefined || !this.#sendsAgain(error, connection)) {
        throw await failure(error, commands[0] as Short);
      }
      return alone(commands, connection);
    }
    const replies = repliesTo(commands, raw);
    const rest = commands.filter((_, at) => replies[at] === undefined);
    if (rest.length === 0) return replies as Reply[];
    const others = alone(rest, connection).values();
    return replies.map((reply) => reply ?? (others.next().value as Promise<Reply>));
  }

  /** Whether single calls follow a call that a node did not answer with replies. */
  #sendsAgain(error: unknown, connection: unknown): boolean {
    const { client } = this.#store;
    if (client.isReply(error) || error instanceof UnknownNode || isUnchecked(error)) return true;
    // after a lost connection, as the client would send its own commands again
    return client.connection() !== connection;
  }
}

/** `undefined`: none occurs twice. */
function keysInTwo(batch: readonly KeyCommand[]): Set<string> | undefined {
  const all = new Set<string>();
  let twice: Set<string> | undefined;
  for (const { key } of batch) {
    if (all.has(key)) (twice ??= new Set()).add(key);
    else all.add(key);
  }
  return twice;
}

function scriptOf([first]: readonly Short[]): Script {
  if (first?.op === 'inspect') return scripts.inspectMany;
  return first?.op === 'release' ? scripts.releaseMany : scripts.acquireMany;
}

/** @param names on a cluster, where they are no keys */
export function argsOfMany(commands: readonly Short[], names?: NodeNames): string[] {
  const first = commands[0] as Short;
  // an inspection names no acquisition
  const own = commands.map((command) => (command.op === 'inspect' ? '' : command.id));
  const ids = names === undefined ? own : [...names, ...own];
  if (first.op === 'inspect') return names === undefined ? [] : ids;
  const [, terms = '', meta = '', channel = ''] = encode(first);
  if (first.op === 'release') return [terms, ...ids];
  return [terms, meta, channel, ownTerms(commands as readonly Acquire[]), ...ids];
}

/**
 * Each acquisition's own terms, as one word: the script reads them only where it joins the queue.
 */
function ownTerms(commands: readonly Acquire[]): string {
  const usual = commands.every(({ waited = 0, token }) => waited === 0 && token === '');
  return usual ? '' : commands.map(({ waited = 0, token }) => `${waited}:${token}`).join(' ');
}

export function isShort(command: KeyCommand): command is Short {
  if (command.op === 'release' || (command.op === 'inspect' && command.limit > 0)) return true;
  if (command.op !== 'acquire') return false;
  const { kind, owner, ticket } = command;
  return kind === 'mutex' && owner === '' && ticket === 0;
}

function haveSameTerms(a: Short, b: Short): boolean {
  // a plain record has no more to show than any limit allows
  if (a.op === 'inspect' || b.op === 'inspect') return a.op === b.op;
  if (a.op === 'release') {
    const same = b.op === 'release' && a.retention === b.retention;
    return same && (a.unpassed ?? false) === (b.unpassed ?? false);
  }
  if (b.op === 'release' || a.retention !== b.retention) return false;
  const { ttl, claim, fair, queue, maxQueue, patience, handOffs, tasks = 0, meta, channel } = a;
  return (
    ttl === b.ttl &&
    claim === b.claim &&
    fair === b.fair &&
    queue === b.queue &&
    maxQueue === b.maxQueue &&
    patience === b.patience &&
    handOffs === b.handOffs &&
    tasks === (b.tasks ?? 0) &&
    meta === b.meta &&
    channel === b.channel
  );
}

/** The user may not use all keys, or the server is a node of a cluster. */
function isApart(error: unknown): boolean {
  return error instanceof Error && /^(?:CROSSSLOT|NOPERM)\b/.test(error.message);
}

/** `undefined` for a command that was not executed. */
export function repliesTo(commands: readonly Short[], raw: unknown): (Reply | undefined)[] {
  const [first, ...exceptions] = listOf(notQueued(raw));
  const now = Number(first ?? Number.NaN);
  if (!Number.isSafeInteger(now)) throw malformed(raw);
  if (commands[0]?.op === 'inspect') {
    if (exceptions.length !== commands.length) throw malformed(raw);
    return exceptions.map((one) => plainlyInspected(now, one));
  }
  const replies: (Reply | undefined)[] = commands.map((command) =>
    shortReply(command as Acquire | Release, now, now),
  );
  for (let at = 0; at < exceptions.length; at += 2) {
    const place = Number(exceptions[at]) - 1;
    const value = exceptions[at + 1];
    if (!(place in replies) || !(Array.isArray(value) || Number(value) === 0)) throw malformed(raw);
    replies[place] = Array.isArray(value) ? answerTo(commands[place] as Short, value) : undefined;
  }
  return replies;
}

const listOf = (raw: unknown): unknown[] => (Array.isArray(raw) ? raw : []);

function malformed(raw: unknown): StoreFailure {
  const message = `not a reply to several commands: ${String(JSON.stringify(raw)).slice(0, 200)}`;
  return new StoreFailure(message, 'unanswered', undefined);
}
