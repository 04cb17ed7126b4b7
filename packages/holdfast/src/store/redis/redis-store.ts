/**
 * The store on one deployment: a server, or a cluster.
 *
 * A batch of commands is sent together. `several.ts` and `many-renewals.ts` put several into one
 * call; each other command is one EVALSHA. `script-loader.ts` sends a script that the server does
 * not know, once with the text: every command is idempotent by id.
 */
import { isMoving } from '../clients/cluster.js';
import type { ClientPort, ScanPage, ScriptCall } from '../clients/port.js';
import type { Command, KeyCommand, RenewMany, RenewReply, Reply } from '../../engine/commands.js';
import { loadedLater } from './loaded-later.js';
import {
  type AcknowledgeTerms,
  type Outcome,
  OutOfStep,
  type Store,
  StoreFailure,
  type TimeLimit,
  type WakeChannel,
  type WakeListener,
} from '../port.js';
import type { Examination, ExamineTerms } from '../finding.js';
import { decodePush } from '../push-text.js';
import { afterTurn, systemClock } from '../../base/clock.js';
import type * as Advice from './advice.js';
import type { ClusterChannels } from './cluster-channels.js';
import { encode, answerTo, refuseTwice } from './codec.js';
import { GATE_OPS } from './gate-codec.js';
import { Echo, ECHO } from './echo.js';
import { failureOf, isNoScript, loginAdvice } from './error-replies.js';
import { scripts } from './generated/scripts.js';
import { channelOf, gateKeysOf, keyOf, keysOf, mainKeyOf, scanPattern } from './keys.js';
import { OneServer } from './one-server.js';
import { Posted, type PostedParts, provable, type ProvenPort, provenPort } from './proven-port.js';
import { ManyRenewals } from './many-renewals.js';
import { ScriptLoader } from './script-loader.js';
import { isShort, Several } from './several.js';
import { slotOf } from './hash-slot.js';

let adviceFor: typeof Advice.adviceFor | undefined;

async function loadAdvice(): Promise<void> {
  try {
    ({ adviceFor } = await import('./advice.js'));
  } catch {
    // messages have no advice
  }
}

const SCAN_COUNT = 500;
const REFRESH_MS = 200;
const NAMES_MAX = 1000;

export class RedisStore implements Store {
  readonly label: string;
  readonly writesLater: boolean;
  readonly joins = true;
  readonly #client: ProvenPort;
  readonly #prefix: string;
  #names = new Map<string, readonly string[]>();
  readonly #loader: ScriptLoader;
  readonly #renewals: ManyRenewals;
  readonly #several: Several;
  readonly #posting: PostedParts;
  #channels: ClusterChannels | undefined;
  #refreshing = false;
  /** The address of a key's master in a cluster, which renews its leases together. */
  readonly shardOf?: (key: string) => string;
  readonly written?: () => Promise<void>;
  readonly connection?: () => unknown;
  readonly oneServer: OneServer;

  /** @param oneServer of another store on the same server */
  constructor(port: ClientPort, prefix: string, oneServer?: OneServer) {
    const client = provenPort(port);
    const { cluster } = client;
    if (cluster === undefined) this.connection = () => client.connection();
    this.label = client.name;
    this.writesLater = client.writesLater;
    this.#client = client;
    this.#prefix = prefix;
    this.#loader = new ScriptLoader(client);
    if (cluster) this.shardOf = (key) => cluster.masterOf(this.#slotOf(key)) ?? '';
    // these clients first look for the node, in further promise jobs
    if (client.writesLater && (cluster ?? client.sentinel) !== undefined) {
      this.written = () => new Promise(afterTurn);
    }
    this.oneServer = oneServer ?? new OneServer(client, prefix);
    const ordered = cluster === undefined;
    const again: PostedParts['again'] = (...about) => this.#again(...about);
    this.#posting = { client, ordered, answerTo, refuseTwice, again };
    const parts = { client, prefix, loader: this.#loader, oneServer: this.oneServer };
    this.#renewals = new ManyRenewals({
      ...parts,
      renew: (command) => this.#alone([command])[0] as Promise<RenewReply>,
      failure: (error) => this.#failure(error, 'renewMany'),
    });
    this.#several = new Several({
      ...parts,
      addressed: (command) => this.#addressed(command),
      mainKeyOf: (command) => this.#keysOf(command)[0] as string,
      alone: (commands, first) => this.#alone(commands, first),
      once: (reply, command, connection) => this.#once(reply, command, connection),
      failure: (error, { op }) => this.#failure(error, op),
    });
  }

  space(prefix: string): RedisStore {
    return new RedisStore(this.#client, prefix);
  }

  acknowledged(terms: AcknowledgeTerms): Store | undefined {
    const [client, prefix] = [this.#client, this.#prefix];
    if (client.hasNoLine) return undefined;
    const opening = import('./acknowledged.js').then(
      ({ Acknowledged }) => new Acknowledged(this, client.plain, prefix, terms),
    );
    return loadedLater(this, opening);
  }

  execute(batch: readonly Command[]): Promise<Reply>[] {
    if (!batch.some(isRenewMany)) return this.#several.execute(batch as readonly KeyCommand[]);
    // renewals first: a release may concern one of their leases
    const renewals = batch.map((one) => (isRenewMany(one) ? this.#renewals.renew(one) : undefined));
    const others = this.#several.execute(batch.filter((one) => !isRenewMany(one))).values();
    return renewals.map((renewal) => renewal ?? (others.next().value as Promise<Reply>));
  }

  post(command: Command, to: Outcome): boolean {
    if (this.#client.post === undefined || command.op === 'renewMany') return false;
    const call = this.#callOf(command);
    const posted = new Posted(this.#posting, command, call, to);
    return this.#client.post(call, posted.proof, posted);
  }

  #callOf(command: KeyCommand): ScriptCall {
    const keys = this.#keysOf(command);
    const sent = this.#channels === undefined ? command : this.#addressed(command);
    return { sha: scripts[command.op].sha, keys, args: encode(sent) };
  }

  #alone(batch: readonly KeyCommand[], first?: unknown): Promise<Reply>[] {
    const movesApart = this.#client.cluster !== undefined;
    const calls = batch.map((command): ScriptCall => {
      const call = this.#callOf(command);
      return isShort(command) || command.op === 'renew' ? { ...call, movesApart } : call;
    });
    const connection = first ?? this.#client.connection();
    const triesAgain = this.#client.cluster?.triesAgain === true;
    const answers = triesAgain ? undefined : this.#client.evalsha(calls);
    return calls.map((call, at) => {
      const command = batch[at] as KeyCommand;
      if (triesAgain && call.movesApart === true) {
        return this.#again(command, call, MOVING, connection);
      }
      const answer = answers === undefined ? this.#client.evalsha([call])[0] : answers[at];
      return (answer as Promise<unknown>).then(
        (raw) => this.#once(answerTo(command, raw), command, connection),
        (error: unknown) => this.#again(command, call, error, connection),
      );
    });
  }

  /** Those of locks are cached. */
  #keysOf(command: KeyCommand): readonly string[] {
    const { key } = command;
    if (GATE_OPS.has(command.op)) return gateKeysOf(this.#prefix, key);
    let names = this.#names.get(key);
    if (names === undefined) {
      names = keysOf(this.#prefix, key);
      if (this.#names.size >= NAMES_MAX) this.#names = new Map();
      this.#names.set(key, names);
    }
    return names;
  }

  #addressed<C extends KeyCommand>(command: C): C {
    if (this.#channels === undefined || !('channel' in command) || command.channel === '') {
      return command;
    }
    return { ...command, channel: this.#channels.at(this.#slotOf(command.key)) };
  }

  #slotOf(key: string): number {
    return slotOf(this.#client.keyPrefix + mainKeyOf(this.#prefix, key));
  }

  #once(reply: Reply, command: KeyCommand, connection: unknown): Reply {
    if (connection !== this.#client.connection()) refuseTwice(reply, command);
    return reply;
  }

  async #again(
    command: KeyCommand,
    call: ScriptCall,
    error: unknown,
    connection: unknown,
  ): Promise<Reply> {
    let last = error;
    try {
      if (call.movesApart === true && isMoving(error)) {
        const reply = await this.#withMainRecord(command);
        if (reply !== undefined) return this.#once(reply, command, connection);
        try {
          const [answer] = this.#client.evalsha([{ ...call, movesApart: false }]);
          return this.#once(answerTo(command, await answer), command, connection);
        } catch (second) {
          last = second;
        }
      }
      if (!isNoScript(last)) throw last;
      const raw = await this.#loader.repeat(call, scripts[command.op]);
      return this.#once(answerTo(command, raw), command, connection);
    } catch (second) {
      throw await this.#failure(second, command.op);
    }
  }

  /**
   * Names only the main record, and most locks have no other: while a slot moves, no node executes
   * a call with three keys if it has only some. `undefined` if the others are necessary.
   */
  async #withMainRecord(command: KeyCommand): Promise<Reply | undefined> {
    try {
      if (isShort(command)) return await this.#several.one(command);
      // a renewal that changes more than the length needs its own script
      const renews = command.op === 'renew' && (command.channel ?? command.tasks) === undefined;
      return renews ? await this.#renewals.one(command) : undefined;
    } catch (error) {
      // without an answer it may have been executed
      const failed = error instanceof StoreFailure ? error.answered : this.#client.isReply(error);
      if (failed) return undefined;
      throw error;
    }
  }

  async listen(name: string, listener: WakeListener): Promise<WakeChannel> {
    const channel = channelOf(this.#prefix, name);
    try {
      return await this.#listen(channel, listener);
    } catch (error) {
      throw await this.#failure(error);
    }
  }

  async #listen(name: string, listener: WakeListener): Promise<WakeChannel> {
    const echo = new Echo();
    const message = (payload: string): void => {
      if (echo.heard(payload)) return;
      const push = decodePush(payload);
      if (push !== undefined) listener.push(push);
    };
    const up = (): void => listener.up();
    const down = (): void => listener.down();
    const { ended } = listener;
    const { cluster, sentinel } = this.#client;
    if (sentinel !== undefined) {
      const { openMasterChannel } = await import('./master-channel.js');
      const channel = await openMasterChannel(sentinel, name, { message, up, down, ended });
      return Object.assign(channel, { echo: () => echo.send(this.#publisher(name)) });
    }
    if (cluster === undefined) {
      const subscription = await this.#client.subscribe(name, { message, up, down, ended });
      const close = (): Promise<void> => subscription.close();
      return { name, echo: () => echo.send(this.#publisher(name)), close };
    }
    const { ClusterChannels } = await import('./cluster-channels.js');
    const channels = new ClusterChannels(cluster, name, { message, up, ended });
    this.#channels = channels;
    await channels.open();
    const publish =
      (key?: string) =>
      async (text: string): Promise<unknown[]> => {
        const all = key === undefined ? channels.live() : [channels.at(this.#slotOf(key))];
        if (all.length === 0 || all.includes('')) throw new Error('a channel is not open');
        const counts = all.map((one) => this.#publisher(one)(text));
        return (await Promise.all(counts)).flat();
      };
    return {
      ...{ name, close: () => channels.close() },
      echo: (key) => echo.send(publish(key)),
    };
  }

  #publisher(channel: string): (text: string) => Promise<unknown[]> {
    const client = this.#client;
    const clustered = client.cluster !== undefined;
    const word = clustered ? 'SPUBLISH' : 'PUBLISH';
    // the channel's name leads to its node
    const keys = clustered ? [channel] : [];
    return async (text) => [await client.eval(provable(ECHO), keys, [word, channel, text])];
  }

  async *keys(pattern: string, within: TimeLimit): AsyncIterable<string> {
    const prefix = this.#client.keyPrefix + this.#prefix;
    const match = scanPattern(prefix, pattern);
    let next: Promise<ScanPage> | undefined = within(this.#scan('0', match));
    while (next !== undefined) {
      const { cursor, keys }: ScanPage = await next;
      // the server reads the next page meanwhile
      next = cursor === '0' ? undefined : within(this.#scan(cursor, match));
      next?.catch(() => undefined);
      yield* keys.map((name) => keyOf(prefix, name)).filter((key) => key !== undefined);
    }
  }

  async #scan(cursor: string, match: string): Promise<ScanPage> {
    try {
      return await this.#client.scan(cursor, match, SCAN_COUNT);
    } catch (error) {
      throw await this.#failure(error);
    }
  }

  /**
   * A replica may have replaced the master (cluster, Sentinel); without a cluster, the connection
   * may be dead.
   */
  unanswered(command?: Command): Promise<string | undefined> | undefined {
    const refresh = this.#refreshing ? undefined : this.#refresh(command);
    if (refresh === undefined) return undefined;
    this.#refreshing = true;
    // it costs a connection, and many commands may fail together
    const again = (): void => void (this.#refreshing = false);
    const refreshed = (): void => void systemClock.after(REFRESH_MS, again, true);
    refresh.then(refreshed, refreshed);
    return refresh.then(
      (text) => text ?? undefined,
      () => undefined,
    );
  }

  #refresh(command: Command | undefined): Promise<string | void> | undefined {
    const { cluster } = this.#client;
    if (cluster === undefined) {
      const left = this.#client.leaveFormerMaster?.();
      const silent = this.#client.endSilence?.(pause);
      return left === undefined ? silent : left.then(() => silent);
    }
    const key = command?.op === 'renewMany' ? command.keys[0] : command?.key;
    const silent = key === undefined ? undefined : cluster.masterOf(this.#slotOf(key));
    return cluster.refresh(silent ?? '');
  }

  trouble(): string | undefined {
    if (this.#client.proofs.isOutOfStep) return new OutOfStep(this.label).message;
    return this.#client.state()?.text ?? this.#client.delay?.();
  }

  blockedBy(): string | undefined {
    return this.#client.blockedBy?.();
  }

  async examine(terms: ExamineTerms): Promise<Examination> {
    const { examine } = await import('./doctor/examine.js');
    return examine({ ports: [this.#client.plain], prefix: this.#prefix }, terms);
  }

  async #failure(error: unknown, op?: Command['op']): Promise<StoreFailure> {
    const { keyPrefix } = this.#client;
    const state = this.#client.state();
    if (state?.closed === true) return new StoreFailure(state.text, 'closed', error);
    if (error instanceof StoreFailure) return error;
    const answered = this.#client.isReply(error);
    if (!answered) return failureOf(error, false, loginAdvice(error));
    const about = { prefix: this.#prefix, keyPrefix, script: op };
    if (adviceFor === undefined) {
      const loading = loadAdvice();
      // a renewal does not wait for it: its next attempt has the advice
      if (op !== 'renew' && op !== 'renewMany') await loading;
    }
    return failureOf(error, true, adviceFor?.((error as Error).message, about));
  }
}

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => systemClock.after(ms, resolve, true));

/** For a client that goes on to try. */
const MOVING = new Error('TRYAGAIN the client does not tell');

const isRenewMany = (one: Command): one is RenewMany => one.op === 'renewMany';
